import { readPathState } from '../os/path-state.ts';
import { planFiles, type FileGoal, type FileSeen } from './plan.ts';
import type { SystemParts } from './system-parts.ts';

/**
 * Brings the files to their goals.
 *
 * @param isReported - the status names what becomes of restored files
 * @returns the files whose content changed
 * @throws Error that names the file that could not be changed
 */
export async function applyFiles(
  goals: readonly FileGoal[],
  { managedFiles, prefix, log }: SystemParts,
  { isReported = false } = {},
): Promise<readonly string[]> {
  if (!isReported) await managedFiles.forgetReported(goals.map(({ file }) => `${prefix}${file}`));
  const managed = await managedFiles.written();
  const seen = await Promise.all(
    goals.map(async ({ file }): Promise<FileSeen> => {
      const { kind, content } = await readPathState(`${prefix}${file}`);
      const text = kind === 'file' ? Buffer.from(content, 'base64').toString('utf8') : undefined;
      return { file, text, isManaged: managed.includes(`${prefix}${file}`) };
    }),
  );
  const changed: string[] = [];
  for (const step of planFiles(goals, seen)) {
    try {
      const path = `${prefix}${step.file}`;
      if (step.do === 'write') {
        if (!(await managedFiles.write(path, step.text))) continue;
        log.info('a file of the operating system is written', { file: step.file });
      } else {
        const result = await managedFiles.restore(path, { isReported });
        if (result === 'foreign') log.warn('a file stays: a user or another program changed it', { file: step.file });
        if (result !== 'restored') continue;
        log.info('a file of the operating system is as it was before', { file: step.file });
      }
      changed.push(step.file);
    } catch (error) {
      throw new UnwritableFile(step.file, error);
    }
  }
  return changed;
}

/** For example on a read-only file system. */
class UnwritableFile extends Error {
  constructor(file: string, cause: unknown) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
    const why =
      code === 'EROFS' ? 'the file system is read-only' : cause instanceof Error ? cause.message : String(cause);
    super(`${file} cannot be written: ${why}`, { cause });
  }
}
