import { readFile } from 'node:fs/promises';
import { errorText, type Clock, type Log } from '@platform/kit';
import { forgetPages, type MemoryRange } from './libc.ts';

/** Longer than a start takes, with everything that is looked up once. */
const startMs = 60_000;

/**
 * Where the instructions and constants of a program lie, as `/proc/self/smaps` tells it: mapped from its file, not writable, and no
 * page of them changed. What the loader wrote to before it made it read-only is left out: it would come back unwritten.
 */
export function programPages(smaps: string, program: string): readonly MemoryRange[] {
  return smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).flatMap((mapping) => {
    const [, from = '', to = '', name] =
      /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p [0-9a-f]+ \S+ [1-9]\d* +(\/.*)$/m.exec(mapping) ?? [];
    if (name !== program && name !== `${program} (deleted)`) return [];
    const isUnchanged = ['Anonymous', 'Swap'].every((kind) => new RegExp(`^${kind}: +0 kB$`, 'm').test(mapping));
    const start = BigInt(`0x${from}`);
    return isUnchanged ? [{ start, bytes: BigInt(`0x${to}`) - start }] : [];
  });
}

/**
 * Of the instructions and constants of this program, those of the start alone are half of what it has in memory, and the kernel keeps
 * what a process has mapped longer than anything else of a file. Once the start is over they are let go of: what runs is read in
 * again, mostly from the kernel's cache.
 */
export async function forgetStart({ clock, log }: { clock: Clock; log: Log }, signal: AbortSignal): Promise<void> {
  await clock.sleep(startMs, signal);
  if (signal.aborted || process.platform !== 'linux') return;
  try {
    const ranges = programPages(await readFile('/proc/self/smaps', 'utf8'), process.execPath);
    const isDone = ranges.length > 0 && (await forgetPages(ranges));
    log.debug(isDone ? 'memory of the start was let go of' : 'memory of the start is kept', { ranges: ranges.length });
  } catch (error) {
    log.debug('memory of the start is kept', { error: errorText(error) }); // under another runtime, or where it is not allowed
  }
}
