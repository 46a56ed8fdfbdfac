import type { Disk, FileSystem } from '../os/ports.ts';
import { replaceFile } from '../os/file-disk.ts';
import { decodeChecked, encodeChecked } from '../storage/checked-file.ts';
import { noPreviousRun, type PreviousRun } from '../health/last-run.ts';

/** How the last agent ended that was not asked to: its supervisor writes it, the next agent reads it. */
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

/** What was written of an agent before says nothing of one that ended as asked. */
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
