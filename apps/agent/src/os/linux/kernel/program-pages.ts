import { readFile } from 'node:fs/promises';
import { errorText, type Clock, type Log } from '@platform/kit';
import { forgetPages, takeBackPages, type MemoryRange } from './libc.ts';
import { readFileSync } from 'node:fs';

/** Longer than a start takes, including one-time initialisation. */
const startMs = 60_000;

/** The mappings of a program's own file. */
export interface ProgramPages {
  /** Instructions and constants that can be read again: not writable, and with no changed page. */
  unchanged: readonly MemoryRange[];
  /** Variables: most of their pages were only read. */
  writable: readonly MemoryRange[];
}

/**
 * Parses `/proc/self/smaps`. Mappings that the loader wrote to before it made them read-only are in neither list: their
 * changes would be lost.
 */
export function programPages(smaps: string, program: string): ProgramPages {
  const mappings = smaps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).flatMap((mapping) => {
    const [, from = '', to = '', mode = '', name] =
      /^([0-9a-f]+)-([0-9a-f]+) (\S+) [0-9a-f]+ \S+ [1-9]\d* +(\/.*)$/m.exec(mapping) ?? [];
    if (name !== program && name !== `${program} (deleted)`) return [];
    const isUnchanged = ['Anonymous', 'Swap'].every((kind) => new RegExp(`^${kind}: +0 kB$`, 'm').test(mapping));
    const start = BigInt(`0x${from}`);
    return [{ mode, isUnchanged, range: { start, bytes: BigInt(`0x${to}`) - start } }];
  });
  const ranges = (list: typeof mappings): MemoryRange[] => list.map(({ range }) => range);
  return {
    unchanged: ranges(mappings.filter(({ mode, isUnchanged }) => /^r-[x-]p$/.test(mode) && isUnchanged)),
    writable: ranges(mappings.filter(({ mode }) => mode === 'rw-p')),
  };
}

/**
 * Only the start needs half of the program's resident instructions and constants, and the kernel evicts mapped pages
 * last. So they are dropped after the start; pages that are needed are read again, mostly from the page cache.
 */
export async function forgetStart({ clock, log }: { clock: Clock; log: Log }, signal: AbortSignal): Promise<void> {
  await clock.sleep(startMs, signal);
  if (signal.aborted || process.platform !== 'linux') return;
  try {
    const { unchanged, writable } = programPages(await readFile('/proc/self/smaps', 'utf8'), process.execPath);
    const isDone = unchanged.length > 0 && (await forgetPages(unchanged));
    const isTakenBack = await takeBackPages(writable);
    log.debug(isDone ? 'memory of the start was let go of' : 'memory of the start is kept', {
      ranges: unchanged.length,
      isTakenBack,
    });
  } catch (error) {
    log.debug('memory of the start is kept', { error: errorText(error) }); // under another runtime, or not permitted
  }
}

/**
 * Resident memory of this process that is not backed by a file, in bytes; undefined where the system does not report
 * it.
 */
export function ownMemory(): number | undefined {
  try {
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
