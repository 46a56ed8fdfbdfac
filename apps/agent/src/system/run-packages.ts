import { PlatformError } from '@platform/contract/errors/errors';
import { clearCondition, setCondition } from '../health/condition-set.ts';
import { interruptedPackages } from './dpkg-state.ts';
import { failureLines } from './failure-lines.ts';
import { lockHolder } from './package-locks.ts';
import { packageScripts, type PackageScript } from './package-scripts.ts';
import type { SystemParts } from './system-parts.ts';

const lookMs = 5_000;
const waiting = 'OS_PACKAGES_WAIT';

/**
 * Runs a task of the package manager and waits for its end; one that an earlier agent started is awaited first. After
 * the signal the task continues without this agent.
 *
 * @throws PlatformError with the last lines if it fails
 */
export const runPackages = (name: PackageScript, parts: SystemParts, signal: AbortSignal): Promise<void> =>
  parts.inTurn(async () => {
    try {
      await runTask(name, parts, signal);
    } finally {
      parts.task.set('');
    }
  });

async function runTask(name: PackageScript, parts: SystemParts, signal: AbortSignal): Promise<void> {
  const { packages, log } = parts;
  const before = await packages.look();
  if (before.is === 'none' || before.name !== name) {
    await untilEnded(parts, signal);
    await untilUnlocked(parts, signal);
    if (signal.aborted) return;
    const interrupted = await interruptedPackages(parts.prefix);
    if (interrupted.length > 0)
      log.warn('dpkg was interrupted and is repaired first', { packages: interrupted.join(' ') });
    log.info('a package manager is started', { task: name });
    await packages.start(name, packageScripts[name]);
  }
  parts.task.set(name);
  const task = await untilEnded(parts, signal);
  if (signal.aborted) return;
  const lines = await packages.lastLines();
  await packages.clear();
  const code = task.is === 'ended' ? task.code : -1;
  log.info('a package manager has ended', { task: name, code });
  if (code === 0) return;
  const problem = failureLines(lines).join(' | ') || `exit ${code}`;
  throw new PlatformError('OS_PACKAGES_FAILED', { task: name, problem });
}

async function untilEnded({ packages, clock }: SystemParts, signal: AbortSignal) {
  for (;;) {
    const task = await packages.look();
    if (task.is !== 'running' || signal.aborted) return task;
    await clock.sleep(lookMs, signal);
  }
}

/** Waits while another program holds a lock of the package manager, and shows which. */
async function untilUnlocked({ prefix, conditions, clock }: SystemParts, signal: AbortSignal): Promise<void> {
  const sinceWall = clock.wall();
  try {
    for (let holder = await lockHolder(prefix); holder && !signal.aborted; holder = await lockHolder(prefix)) {
      setCondition(conditions, waiting, { program: holder.program, pid: holder.pid }, { sinceWall });
      await clock.sleep(lookMs, signal);
    }
  } finally {
    clearCondition(conditions, waiting);
  }
}
