import { readFile, stat } from 'node:fs/promises';
import { setIfDifferent, type Cell, changedOr } from '@platform/kit';
import { readLastRun, readWaiting } from './apt-status.ts';
import type { SystemParts } from './system-parts.ts';
import type { SystemStatus } from './system-status.ts';

const lookMs = 60_000;
const history = '/var/log/apt/history.log';
const rebootFile = '/run/reboot-required';
/** Each changes when packages, lists, the last run or the need of a reboot change. */
const watched = ['/var/lib/dpkg/status', '/var/lib/apt/lists', history, rebootFile, `${rebootFile}.pkgs`];

/** Keeps the status of the packages while the system has apt: reads it anew when a file of apt has changed. */
export async function watchUpgrades(
  status: Cell<SystemStatus | undefined>,
  parts: SystemParts,
  signal: AbortSignal,
): Promise<void> {
  const { programs, clock, task } = parts;
  let seen = '';
  while (!signal.aborted) {
    const marks = JSON.stringify(await Promise.all(watched.map((file) => changedWall(`${parts.prefix}${file}`))));
    // While a package manager runs, its files change all the time.
    if (marks !== seen && task.get() === '') {
      const { code, text } = await programs.run('apt-get', '-q', '--simulate', '--with-new-pkgs', 'upgrade');
      seen = marks;
      if (code === 0 || status.get()?.hasApt) await update(status, code === 0 ? text : undefined, parts);
    } else if (status.get() && status.get()?.task !== task.get()) {
      status.update((before) => before && { ...before, task: task.get() });
    }
    await changedOr(task, lookMs, clock, signal);
  }
}

/** @param simulated - undefined: apt cannot say what waits, for example because a package is broken */
async function update(
  status: Cell<SystemStatus | undefined>,
  simulated: string | undefined,
  { prefix, task }: SystemParts,
): Promise<void> {
  const text = (file: string) => readFile(`${prefix}${file}`, 'utf8').catch(() => '');
  const before = status.get();
  const since = await changedWall(`${prefix}${rebootFile}`);
  const causes = (await text(`${rebootFile}.pkgs`)).split('\n').map((line) => line.trim());
  const next: SystemStatus = {
    hasApt: true,
    waiting: simulated === undefined ? (before?.waiting ?? []) : readWaiting(simulated),
    // Rotated away every month: the run that was read before is still the last one.
    lastRun: readLastRun(await text(history)) ?? before?.lastRun,
    // Each further upgrade touches the file.
    reboot:
      since === 0
        ? undefined
        : {
            sinceWall: Math.min(before?.reboot?.sinceWall ?? since, since),
            causes: [...new Set(causes)].filter(Boolean),
          },
    rebootWait: since === 0 ? '' : (before?.rebootWait ?? ''),
    task: task.get(),
    why: status.get()?.why ?? '',
  };
  setIfDifferent(status, next);
}

/** ms since 1970; 0: it does not exist. */
const changedWall = (file: string): Promise<number> =>
  stat(file).then(
    ({ mtimeMs }) => Math.round(mtimeMs),
    () => 0,
  );
