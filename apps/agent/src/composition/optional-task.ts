import { errorText, type Cell } from '@platform/kit';
import { clearCondition, setCondition } from '../health/condition-set.ts';
import type { Disk } from '../os/ports.ts';
import { readChecked, writeChecked } from '../storage/checked-file.ts';
import { eachChange } from './sync-loops.ts';
import type { Context } from '../health/context.ts';

const firstDelayMs = 1_000;
const longestDelayMs = 5 * 60_000;
/** After a run of this length, earlier failures no longer count. */
const goodRunMs = longestDelayMs;
/** How long a task may take to end. */
const endMs = 5_000;
const mostLetters = 300;

interface OptionalTask extends Pick<Context, 'conditions' | 'clock' | 'log'> {
  /** For users: network, portal … */
  name: string;
  /** Runs until the signal. To return earlier counts as a failure. */
  work: (signal: AbortSignal) => Promise<void>;
  /** Names of the tasks that fail now, for the trial of a new version; left out: not counted. */
  failing?: Cell<readonly string[]>;
}

/**
 * Runs a task without which the agent works, and starts it again with growing delay when it fails. Never rejects. The
 * hang detector does not watch the task: a call that never returns must not end the agent.
 */
export async function optionalTask(task: OptionalTask, signal: AbortSignal): Promise<void> {
  const { name, conditions, failing, clock, log } = task;
  let failures = 0;
  let sinceWall = 0;
  const recovered = (): void => {
    if (failures > 0) log.info('the task of the agent works again', { task: name });
    failures = 0;
    clearCondition(conditions, 'AGENT_TASK_FAILED', name);
    failing?.update((names) => names.filter((other) => other !== name));
  };
  while (!signal.aborted) {
    const problem = await runOnce(task, recovered, signal);
    if (signal.aborted) break;
    if (failures++ === 0) sinceWall = clock.wall();
    const delayMs = Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs);
    log.error('a task of the agent failed and is started again', { task: name, problem, failures, delayMs });
    setCondition(conditions, 'AGENT_TASK_FAILED', { task: name, problem }, { subject: name, sinceWall });
    failing?.update((names) => (names.includes(name) ? names : [...names, name]));
    await clock.sleep(delayMs, signal);
  }
}

/** @returns why the task ended */
async function runOnce(
  { name, work, clock, log }: OptionalTask,
  recovered: () => void,
  signal: AbortSignal,
): Promise<string> {
  const over = new AbortController();
  const running = started(work, signal).finally(() => over.abort());
  const afterGoodRun = async (): Promise<void> => {
    await clock.sleep(goodRunMs, over.signal);
    if (!over.signal.aborted) recovered();
  };
  void afterGoodRun();
  const stopped = new Promise<undefined>((resolve) => {
    const late = (): void => void clock.sleep(endMs, over.signal).then(() => resolve(undefined));
    if (signal.aborted) late();
    else signal.addEventListener('abort', late, { once: true });
    over.signal.addEventListener('abort', () => signal.removeEventListener('abort', late), { once: true });
  });
  const problem = await Promise.race([running, stopped]);
  if (problem === undefined) log.warn('a task of the agent does not end and is left', { task: name });
  over.abort();
  return problem ?? '';
}

async function started(work: OptionalTask['work'], signal: AbortSignal): Promise<string> {
  try {
    await work(signal);
    return 'it ended';
  } catch (error) {
    return errorText(error).replace(/\.$/, '').slice(0, mostLetters);
  }
}

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
