import type { Cell } from '@platform/kit';
import type { Disk } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { eachChange } from './sync-loops.ts';

const file = 'state/failing-tasks.json';

interface FailingRecord {
  /** Version of the agent. */
  version: string;
  /** Tasks that fail with this version. */
  failing: readonly string[];
  /** Tasks that failed with the version before. */
  before: readonly string[];
}

/**
 * Keeps in `blamed` which optional tasks fail with this version of the agent, but did not fail with the one before. A
 * machine without a working radio must not reject each new version.
 */
export async function trackFailing(
  of: {
    disk: Disk;
    version: string;
    failing: Cell<readonly string[]>;
    blamed: Cell<readonly string[]>;
  },
  signal: AbortSignal,
): Promise<void> {
  const { disk, version, failing, blamed } = of;
  const { value: last } = await readChecked(disk, file, recordOf);
  const before = (last?.version === version ? last.before : last?.failing) ?? [];
  let stored = last?.version === version ? JSON.stringify(last.failing) : '';
  const update = async (): Promise<void> => {
    const now = failing.get();
    blamed.set(now.filter((name) => !before.includes(name)));
    if (JSON.stringify(now) === stored) return;
    stored = JSON.stringify(now);
    await writeChecked(disk, file, { version, failing: now, before } satisfies FailingRecord).catch(() => {});
  };
  let work = Promise.resolve();
  await eachChange(failing, () => void (work = work.then(update)), signal);
  await work;
}

function recordOf(value: unknown): FailingRecord {
  const { version, failing, before } = value as Partial<Record<keyof FailingRecord, unknown>>;
  const names = (list: unknown): string[] => (Array.isArray(list) ? list.map(String) : []);
  return { version: String(version), failing: names(failing), before: names(before) };
}
