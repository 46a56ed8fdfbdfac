import { isInWindow } from '@platform/contract/maintenance-window';
import { PlatformError } from '@platform/contract/errors';
import { changedOr, errorText, type Cell, type Clock, type Log, type Reconciler } from '@platform/kit';
import type { Device } from '../os/ports.ts';
import { plan, type Have, type Step } from '../plans/server-version.ts';
import type { Actual, Failure, InstallStatus, Release, Wanted } from '../state.ts';

const recheckMs = 30_000;

/** Brings the wanted version of the machine server onto the disk and makes it the one that starts next. */
export function serverVersion({
  device,
  wanted,
  actual,
  restarts,
  clock,
  log,
}: {
  device: Device;
  wanted: Cell<Wanted>;
  actual: Cell<Actual>;
  restarts: Cell<number>;
  clock: Clock;
  log: Log;
}): Reconciler<Release | undefined, Have, Step> {
  const { versions } = device;
  const publish = (change: Partial<InstallStatus>) => {
    const { install } = actual.get();
    const next = { ...install, ...change };
    if (JSON.stringify(next) !== JSON.stringify(install)) actual.update((a) => ({ ...a, install: next }));
  };
  /** Spec, Versioning 2: only while maintenance is allowed and the server is not busy; without a window never. */
  const mayRestart = (): boolean => {
    const { server } = actual.get();
    const window = wanted.get().settings.maintenanceWindow;
    if (server.at !== 'running' || server.isRestartAllowed !== true) return false;
    return window ? isInWindow(window, clock.wall()) : server.hasMaintenance;
  };

  const apply = async (step: Step, signal: AbortSignal): Promise<void> => {
    switch (step.do) {
      case 'download': {
        const stop = new AbortController();
        // A download may take hours; a new goal must not wait for it.
        const { url, sha256 } = step;
        void untilOther(wanted, (w) => w.server?.url === url && w.server.sha256 === sha256, stop.signal).then(() =>
          stop.abort(),
        );
        try {
          const id = await versions.download(step, AbortSignal.any([signal, stop.signal]));
          log.info('downloaded', { id });
        } finally {
          stop.abort();
        }
        return;
      }
      case 'link':
        return versions.link(step.id);
      case 'restart':
        return restarts.update((n) => n + 1);
      case 'remove':
        return versions.remove(step.id);
    }
  };

  return {
    name: 'server-version',
    recheckMs,
    async observe(signal) {
      const want = wanted.get().server;
      const linked = await versions.linked();
      publish({ installed: linked });
      return {
        versions: await versions.list(),
        linked,
        running: actual.get().server.running,
        known: want && want.sha256 === '' ? await versions.known(want.url, signal) : null,
        mayRestart: mayRestart(),
      };
    },
    plan,
    apply,
    settled(error) {
      const isSettled = wanted.get().isFresh;
      if (error === undefined) return publish({ failure: undefined, ...(isSettled && { isChecked: true }) });
      const before = actual.get().install.failure;
      const failure = failureOf(error, clock.wall());
      publish({
        failure: before && before.text === failure.text ? before : failure,
        ...(isSettled && { isChecked: true }),
      });
    },
  };
}

function failureOf(error: unknown, sinceWall: number): Failure {
  if (error instanceof PlatformError) return { code: error.code, text: error.what, remedy: error.remedy, sinceWall };
  return { code: '', text: errorText(error), remedy: 'Nothing: it is tried again.', sinceWall };
}

async function untilOther(wanted: Cell<Wanted>, isSame: (w: Wanted) => boolean, signal: AbortSignal): Promise<void> {
  while (isSame(wanted.get()) && !signal.aborted) await wanted.changed(signal);
}

/** The part of `wanted` that this reconciler follows: a new value only when the release itself is another. */
export function followRelease(
  wanted: Cell<Wanted>,
  release: Cell<Release | undefined>,
  signal: AbortSignal,
): Promise<void> {
  return untilOther(
    wanted,
    ({ server }) => {
      if (JSON.stringify(server) !== JSON.stringify(release.get())) release.set(server);
      return true;
    },
    signal,
  );
}

/**
 * Holds the first start of the server back while wait_for_update_check is set: until the first check has ended, or the
 * cloud stayed out of reach for a minute.
 */
export async function holdFirstStart(
  {
    wanted,
    actual,
    mayStart,
    clock,
    log,
  }: {
    wanted: Cell<Wanted>;
    actual: Cell<Actual>;
    mayStart: Cell<boolean>;
    clock: Clock;
    log: Log;
  },
  signal: AbortSignal,
): Promise<void> {
  const end = clock.now() + 60_000;
  while (!signal.aborted && wanted.get().settings.isUpdateCheckFirst && !actual.get().install.isChecked) {
    const left = end - clock.now();
    if (left <= 0 && !wanted.get().isFresh) {
      log.warn('starting without an update check: the cloud is out of reach');
      break;
    }
    const turn = new AbortController();
    const over = AbortSignal.any([turn.signal, signal]);
    await Promise.race([changedOr(wanted, left > 0 ? left : Infinity, clock, over), actual.changed(over)]);
    turn.abort();
  }
  mayStart.set(true);
}
