/** Measures in the background what no request waits for: captures of machines, and files that were stored before. */
import { errorText, type Clock, type Log } from '@platform/kit';
import { measure, type MeasureDeps } from './measure.ts';
import { type UnmeasuredFile, unmeasuredFiles, writeContent } from './store/image-contents.ts';

/** Delay until new files are looked for. */
const everyMs = 2_000;
/** Delay while all that is left are files that cannot be read: a disk may come back. */
const unreadableMs = 5 * 60_000;
const rowsPerStep = 50;

type Deps = MeasureDeps & { clock: Clock; log: Log };

/** Runs until `signal`. Each file is measured once; what was not measured before an end is found after it. */
export async function measureFiles(deps: Deps, signal: AbortSignal): Promise<void> {
  const { clock, log } = deps;
  while (!signal.aborted) {
    let waitMs = everyMs;
    try {
      const { measured, unreadable } = await measureAll(deps, signal);
      if (measured > 0) log.info('files measured', { measured });
      if (unreadable > 0 && measured === 0) waitMs = unreadableMs;
    } catch (error) {
      if (!signal.aborted) log.warn('the measurement of files waits', { error: errorText(error) });
    }
    await clock.sleep(waitMs, signal);
  }
}

/** Measures every file that is not measured yet, one after the other. */
export async function measureAll(deps: Deps, signal: AbortSignal): Promise<{ measured: number; unreadable: number }> {
  const counts = { measured: 0, unreadable: 0 };
  for (let after: UnmeasuredFile | undefined; !signal.aborted;) {
    const files = await unmeasuredFiles(deps.db, after, rowsPerStep);
    if (files.length === 0) break;
    after = files.at(-1);
    for (const file of files) {
      if (signal.aborted) break;
      if (await measureFile(deps, file)) counts.measured++;
      else counts.unreadable++;
    }
  }
  return counts;
}

async function measureFile(deps: Deps, file: UnmeasuredFile): Promise<boolean> {
  try {
    await writeContent(deps.db, file, await measure(deps, file));
    return true;
  } catch (error) {
    if (!/^E[A-Z]+$/.test(String((error as { code?: unknown }).code))) throw error;
    deps.log.warn('a file cannot be read, so that it is not measured', {
      sha256: file.sha256,
      error: errorText(error),
    });
    return false;
  }
}
