import type { Disk, FileSystem } from '../os/ports.ts';
import { replaceFile } from '../os/file-disk.ts';
import { decodeChecked, encodeChecked } from '../storage/checked-file.ts';
import { noPreviousRun, type PreviousRun } from '../health/previous-run.ts';

/** The unexpected exit of the last agent: its supervisor writes the file, the next agent reads it. */
const exitFile = 'state/platform-agent.exit';

export interface KeptExit {
  id: string;
  reason: string;
  lines: readonly string[];
  /** ms since 1970. */
  atWall: number;
}

export const writeKeptExit = (files: FileSystem, exit: KeptExit): Promise<void> =>
  replaceFile(files, exitFile, encodeChecked(exit));

/** Removes the record after a requested exit: an older crash report would mislead. */
export const forgetKeptExit = (files: FileSystem): Promise<void> => files.unlink(exitFile);

export async function readKeptExit(disk: Disk): Promise<PreviousRun> {
  const kept = decodeChecked(await disk.read(exitFile))?.value as Partial<KeptExit> | undefined;
  if (typeof kept?.reason !== 'string' || !Array.isArray(kept.lines)) return noPreviousRun;
  const lines = kept.lines.map(String);
  return {
    reason: kept.reason,
    lines,
    words: [...lines, kept.reason],
    id: String(kept.id),
    atWall: Number.isFinite(kept.atWall) ? kept.atWall : undefined,
  };
}
