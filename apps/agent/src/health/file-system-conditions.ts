import type { ConditionData } from '@platform/contract/conditions/conditions';
import { changedOr } from '@platform/kit';
import type { Actual } from '../state/state.ts';
import { startInodes } from '../os/mounts.ts';
import type { FileSystemFacts } from '../os/ports.ts';
import { clearCondition, setCondition } from './condition-set.ts';
import type { Context } from './context.ts';

export const fileSystemLookMs = 60_000;
const subject = 'file system';

/** Keeps the conditions of the file system of the agent's folder: no space, no inodes, mounted noexec. */
export async function watchFileSystem(
  of: Pick<Context, 'root' | 'actual' | 'conditions' | 'clock'> & {
    fileSystem: () => Promise<FileSystemFacts | undefined>;
  },
  signal: AbortSignal,
): Promise<void> {
  const { root, fileSystem, actual, conditions, clock } = of;
  let wasRefusing = false;
  while (!signal.aborted) {
    const isRefusing = isRefusingServer(actual.get());
    const found = await fileSystem().catch(() => undefined);
    const full = fullData(found, isRefusing, root);
    if (full) setCondition(conditions, 'DISK_FULL', full, { subject });
    // A file system that cannot be measured is not proven to have room, unless the machine server was started.
    else if (found || wasRefusing) clearCondition(conditions, 'DISK_FULL', subject);
    if (found?.isNoExec === true)
      setCondition(conditions, 'ROOT_NOEXEC', { folder: root, mountPoint: found.mountPoint });
    else if (found) clearCondition(conditions, 'ROOT_NOEXEC');
    wasRefusing = isRefusing;
    const end = clock.now() + fileSystemLookMs;
    while (!signal.aborted && clock.now() < end && isRefusingServer(actual.get()) === isRefusing)
      await changedOr(actual, end - clock.now(), clock, signal);
  }
}

const isRefusingServer = ({ server }: Actual): boolean =>
  server.lacks === 'disk' && (server.at === 'waiting' || server.at === 'starting');

/** @param isRefusing - the disk has just rejected files of the machine server. */
function fullData(
  found: FileSystemFacts | undefined,
  isRefusing: boolean,
  root: string,
): ConditionData<'DISK_FULL'> | undefined {
  const place =
    found === undefined || found.mountPoint === '' ? `the disk of ${root}` : `the file system at ${found.mountPoint}`;
  const inodes = found?.inodes;
  if (found && inodes && (inodes.free === 0 || (isRefusing && inodes.free < startInodes))) {
    const { total, free } = inodes;
    const [lack, effect] =
      free === 0
        ? ['No inodes are free', `all ${total} are in use, so no file can be created`]
        : [`Only ${free} of ${total} inodes are free`, `a start of the machine server needs ${startInodes}`];
    return {
      lack,
      place,
      root,
      effect: `${effect}. ${Math.floor(found.freeBytes / 1e6)} MB are free`,
      hint: 'each needs an inode, however small it is',
    };
  }
  if (!isRefusing && found?.freeBytes !== 0) return undefined;
  return {
    lack: 'There is no space left',
    place,
    root,
    effect: isRefusing ? 'the machine server cannot be started' : 'no file can be written',
  };
}
