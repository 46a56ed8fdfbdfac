import { changedOr, type Cell, type Clock } from '@platform/kit';
import type { Actual } from '../state/state.ts';
import { noexecProblem, startInodes } from '../os/mounts.ts';
import type { FileSystemFacts } from '../os/ports.ts';
import type { Condition } from './conditions.ts';
import { clearCondition, setCondition, type ConditionSet } from './condition-set.ts';

export const fileSystemLookMs = 60_000;
const subject = 'file system';

/** Keeps the conditions of the file system of the agent's folder: no space, no inodes, mounted noexec. */
export async function watchFileSystem(
  of: {
    root: string;
    fileSystem: () => Promise<FileSystemFacts | undefined>;
    actual: Cell<Actual>;
    conditions: ConditionSet;
    clock: Clock;
  },
  signal: AbortSignal,
): Promise<void> {
  const { root, fileSystem, actual, conditions, clock } = of;
  let wasRefusing = false;
  while (!signal.aborted) {
    const isRefusing = isRefusingServer(actual.get());
    const found = await fileSystem().catch(() => undefined);
    const full = fullCondition(found, isRefusing, root);
    if (full) setCondition(conditions, full);
    // A file system that cannot be measured is not proven to have room, unless the machine server was started.
    else if (found || wasRefusing) clearCondition(conditions, 'DISK_FULL', subject);
    if (found?.isNoExec === true) setCondition(conditions, noexecCondition(root, found));
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
function fullCondition(found: FileSystemFacts | undefined, isRefusing: boolean, root: string): Condition | undefined {
  const base = { code: 'DISK_FULL', subject, severity: 'error' } as const;
  const place =
    found === undefined || found.mountPoint === '' ? `the disk of ${root}` : `the file system at ${found.mountPoint}`;
  const inodes = found?.inodes;
  if (found && inodes && (inodes.free === 0 || (isRefusing && inodes.free < startInodes))) {
    const { total, free } = inodes;
    const [which, effect] =
      free === 0
        ? ['No inodes are', `all ${total} are in use, so no file can be created`]
        : [`Only ${free} of ${total} inodes are`, `a start of the machine server needs ${startInodes}`];
    return {
      ...base,
      message: `${which} free on ${place}, which holds ${root}: ${effect}. ${Math.floor(found.freeBytes / 1e6)} MB are free.`,
      remedy:
        'Delete files there: each needs an inode, however small it is. The machine server is started as soon as there is room.',
    };
  }
  if (!isRefusing && found?.freeBytes !== 0) return undefined;
  return {
    ...base,
    message: `There is no space left on ${place}, which holds ${root}: ${isRefusing ? 'the machine server cannot be started' : 'no file can be written'}.`,
    remedy: 'Free some space there. The machine server is started as soon as there is room.',
  };
}

function noexecCondition(root: string, { mountPoint }: FileSystemFacts): Condition {
  const { what: message, remedy } = noexecProblem(root, mountPoint);
  return { code: 'ROOT_NOEXEC', severity: 'error', message, remedy };
}
