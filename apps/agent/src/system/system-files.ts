import { readPathState } from '../os/path-state.ts';
import { namingFile } from '../os/file-problem.ts';
import { planFiles, type FileGoal, type FileSeen } from './system-plan.ts';
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
      const { kind, content } = await namingFile(file, 'read', () => readPathState(`${prefix}${file}`));
      const text = kind === 'file' ? Buffer.from(content, 'base64').toString('utf8') : undefined;
      return { file, text, isManaged: managed.includes(`${prefix}${file}`) };
    }),
  );
  const changed: string[] = [];
  for (const step of planFiles(goals, seen)) {
    const path = `${prefix}${step.file}`;
    if (step.do === 'write') {
      if (!(await namingFile(step.file, 'written', () => managedFiles.write(path, step.text)))) continue;
      log.info('a file of the operating system is written', { file: step.file });
    } else {
      const result = await namingFile(step.file, 'written', () => managedFiles.restore(path, { isReported }));
      if (result === 'foreign') log.warn('a file stays: a user or another program changed it', { file: step.file });
      if (result !== 'restored') continue;
      log.info('a file of the operating system is as it was before', { file: step.file });
    }
    changed.push(step.file);
  }
  return changed;
}
