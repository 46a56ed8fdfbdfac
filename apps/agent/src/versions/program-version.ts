import { PlatformError } from '@platform/contract/errors';
import { errorText, type Cell, type Clock, type Log, type Reconciler } from '@platform/kit';
import { nextAttempt, whyOf } from './plans/attempt.ts';
import { plan, wantedId, type Goal, type Have, type Step } from './plans/program-version.ts';
import { mayRestart, restartWait } from './plans/restart-wait.ts';
import { isCustom, shownAsked, shownUrl, shownVersion } from '../state/version-names.ts';
import {
  type Actual,
  type Failure,
  type InstallStatus,
  type Release,
  type UpdateAttempt,
  type Wanted,
} from '../state/state.ts';
import type { Attempts } from './attempts.ts';
import type { Exits } from './exits.ts';
import { heldAfter, type Held } from './backoff.ts';
import { nameOf, type Program } from './layout.ts';
import type { Fetcher } from './ports.ts';
import type { Sources } from './sources.ts';
import type { ProgramStore } from './store.ts';

/** Used while something is pending: a maintenance window, a delayed download, a trial. */
const pendingRecheckMs = 30_000;
/** Used when nothing is pending: a user may have changed the files. Each check opens ten files. */
const settledRecheckMs = 5 * 60_000;
const progressMs = 5_000;

export interface ProgramVersionParts {
  program: Program;
  store: ProgramStore;
  fetcher: Fetcher;
  sources: Sources;
  attempts: Attempts;
  exits: Exits;
  /** Platform of this machine: linux/amd64 … */
  platform: string;
  wanted: Cell<Wanted>;
  actual: Cell<Actual>;
  goal: Cell<Goal>;
  /** Id of the running version; null: none that is stored here. */
  running: () => string | null;
  /** Version that runs from outside versions/; empty: none. */
  elsewhere: string;
  /** False: the supervisor of this program does not start the version in bin/. */
  mayActivate: boolean;
  restart: (to: string) => void;
  /** False: the supervisor of this program does not restart it. */
  canRestart: boolean;
  /** The management server was reached in the last hour, so a new version has to reach it, too. */
  wasReached: () => boolean;
  clock: Clock;
  log: Log;
  random: () => number;
}

/** A reconciler with calls for the other loops. */
export interface ProgramVersion extends Reconciler<Goal, Have, Step> {
  /** A failed download waits for its retry. */
  isHeld(): boolean;
  /** Allows an immediate retry; with `reached`, only if the server set no retry time. */
  forgetFailures(because: 'asked' | 'reached'): void;
  /** Publishes the observed state after a change by other code. */
  refresh(): Promise<void>;
}

const attemptTexts: Record<UpdateAttempt['at'], string> = {
  downloading: 'downloading',
  staged: 'stored',
  trying: 'the new version is on trial',
  healthy: 'the new version is in use',
  reverted: 'the new version was rolled back',
  failed: 'failed',
  superseded: 'another version is desired before this one was proven',
};

export const sliceOf = { agent: 'agentInstall', server: 'install' } as const;

/** Downloads the desired version of one program and makes it the one that starts next. */
export function programVersion(parts: ProgramVersionParts): ProgramVersion {
  const { program, store, sources, attempts, exits, wanted, actual, goal, clock, log } = parts;
  const slice = sliceOf[program];
  let held: Held | undefined;
  let failure: Failure | undefined;
  let seen = { revision: 0, desired: null as string | null };
  let urls: Readonly<Record<string, string>> = {};
  let isOfFresh = false; // the last pass used a goal of the management server, not of the cache
  let isSettled = false; // nothing is pending
  let isOfStep = false; // the failure came from a step; the next success clears it

  const publish = (change: Partial<InstallStatus>) => {
    const before = actual.get()[slice];
    const next = { ...before, ...change };
    if (JSON.stringify(next) !== JSON.stringify(before)) actual.update((a) => ({ ...a, [slice]: next }));
  };
  const keyOf = ({ url, sha256 }: Pick<Release, 'url' | 'sha256'>): string => `${sha256} ${url}`;

  const observe = async (signal: AbortSignal): Promise<Have> => {
    isOfFresh = goal.get().isFresh;
    const { want, clearance, revision } = goal.get();
    const release = want?.is === 'release' ? want.release : undefined;
    const [installed, linked, previous, trial, bad] = [
      await store.list(),
      await store.linked(),
      await store.previous(),
      await store.trial(),
      await store.bad(),
    ];
    if (release && held?.key !== keyOf(release)) {
      held = undefined;
      failure = undefined;
    }
    const have: Have = {
      versions: installed.map(({ id, sizeBytes }) => ({ id, sizeBytes })),
      linked,
      running: parts.running(),
      previous,
      trial,
      quarantined: bad,
      known: release?.sha256 === '' ? await sources.known(release.url, signal) : null,
      leftovers: await store.leftovers(),
      isHeldBack: held !== undefined && clock.now() < held.until,
      mayActivate: parts.mayActivate,
      mayRestart:
        parts.canRestart && (goal.get().isUrgent || mayRestart(program, wanted.get(), actual.get(), clock.wall())),
    };
    seen = { revision, desired: wantedId(goal.get(), have) };
    isSettled =
      (want === undefined || linked === seen.desired) &&
      have.running === linked &&
      trial === undefined &&
      held === undefined &&
      release?.sha256 !== '';
    const last = attempts.get(program);
    const next = nextAttempt(last, have, clock.wall(), seen.desired);
    if (next !== last && next) {
      await attempts.set(program, next);
      log.info(attemptTexts[next.at], { id: next.id, ...(next.reason !== '' && { reason: next.reason }) });
    }
    const aboutOf = (id: string | null) => installed.find((one) => one.id === id)?.about;
    const isUnsigned = (id: string | null): boolean => aboutOf(id)?.target === '';
    urls = {
      ...Object.fromEntries(Object.entries(urls).filter(([id]) => bad.some((one) => one.id === id))),
      ...Object.fromEntries(
        installed.flatMap(({ id, about }) => (about && isCustom(id) ? [[id, shownUrl(about.url)]] : [])),
      ),
    };
    const isWaiting = linked !== null && have.running !== null && have.running !== linked;
    const wait = isWaiting ? restartWait(program, wanted.get(), actual.get(), clock.wall()) : '';
    publish({
      installed: linked,
      running: have.running,
      previous: trial?.from ?? previous,
      trial,
      quarantined: bad
        .filter((b) => b.clearance >= clearance)
        .toReversed()
        .map((b) => ({ ...b, exit: exits.get(program, b.id) })),
      lastUpdate: next,
      urls,
      isUnsigned: isUnsigned(have.running ?? linked),
      isInstalledUnsigned: isUnsigned(linked),
      wait,
      pin: want?.is === 'installed' && isCustom(want.id) ? shownVersion(want.id, urls) : goal.get().pin,
      failure,
      why: whyOf(nameOf(program), goal.get(), have, failure, next, { urls, elsewhere: parts.elsewhere, wait }),
    });
    return have;
  };

  const download = async (release: Release, signal: AbortSignal): Promise<void> => {
    const { url, version, sha256 } = release;
    const before = attempts.get(program);
    const known = sha256 === '' ? '' : store.idOf({ version, sha256 });
    const installed = actual.get()[slice].installed;
    const shown = shownAsked(release, known || null, urls);
    const attempt = {
      id: known,
      version: shown,
      from: installed === null ? '' : shownVersion(installed, urls),
      at: 'downloading' as const,
      code: '',
      reason: '',
      sinceWall: clock.wall(),
      downloadedBytes: 0,
      sizeBytes: release.sizeBytes,
      isByDelta: false,
    };
    const isRepeated = before?.version === shown && before.id === known && before.at === 'failed';
    // Persisted only when the attempt ends: repeated failures must not wear out the disk.
    publish({ lastUpdate: isRepeated ? { ...attempt, sinceWall: before.sinceWall } : attempt });
    let published = clock.now();
    try {
      const got = await parts.fetcher.fetch(
        { ...release, program, platform: parts.platform },
        ({ bytes, ofBytes }) => {
          if (clock.now() - published < progressMs) return; // each change triggers a report to the management server
          published = clock.now();
          publish({ lastUpdate: { ...attempt, downloadedBytes: bytes, sizeBytes: ofBytes } });
        },
        signal,
      );
      const sizes = { downloadedBytes: got.sizeBytes, sizeBytes: got.sizeBytes, isByDelta: got.isByDelta };
      held = undefined;
      if (sha256 === '') await sources.learn(url, { id: got.id, stamp: got.stamp });
      if (isCustom(got.id)) urls = { ...urls, [got.id]: shownUrl(url) };
      if (got.refusal !== undefined) {
        await store.quarantine(got.id, got.refusal, goal.get().clearance);
        throw new PlatformError('PROGRAM_REFUSED', { program: nameOf(program), version: shown, problem: got.refusal });
      }
      failure = undefined;
      log.info('downloaded', { id: got.id, bytes: got.sizeBytes, isByDelta: got.isByDelta });
      const named = shownAsked(release, got.id, urls);
      await attempts.set(program, { ...attempt, ...sizes, version: named, id: got.id, at: 'staged' });
    } catch (error) {
      if (signal.aborted) throw error;
      failure = failureOf(error, failure, clock.wall());
      const isFinal = error instanceof PlatformError && error.code === 'PROGRAM_REFUSED';
      const wait = error instanceof PlatformError ? Number(error.data['retryAfterSeconds'] ?? 0) : 0;
      held = heldAfter(held, keyOf(release), clock.now(), parts.random, wait * 1000);
      const idleMs = Math.round(held.until - clock.now());
      log.warn(isFinal ? 'refused' : 'not downloaded', { version, error, ...(!isFinal && { idleMs }) });
      if (!isRepeated || !isSameFailure({ code: before.code, text: before.reason }, failure)) {
        const sinceWall = isRepeated ? before.sinceWall : clock.wall();
        await attempts.set(program, { ...attempt, at: 'failed', code: failure.code, reason: failure.text, sinceWall });
      }
      if (goal.get().isFresh) publish({ isChecked: true });
    }
  };

  const apply = async (step: Step, signal: AbortSignal): Promise<void> => {
    switch (step.do) {
      case 'download': {
        // A download may take hours, so a new goal ends it.
        const { want } = goal.get();
        const key = keyOf(step);
        if (want?.is !== 'release' || keyOf(want.release) !== key) return;
        const stop = new AbortController();
        const isSame = (now: Goal) => now.want?.is === 'release' && keyOf(now.want.release) === key;
        void untilOther(goal, isSame, AbortSignal.any([stop.signal, signal])).then(() => stop.abort());
        try {
          await download(want.release, AbortSignal.any([signal, stop.signal]));
        } catch (error) {
          if (!stop.signal.aborted || signal.aborted) throw error;
          log.info('the download is ended: something else is wanted', { version: step.version });
        } finally {
          stop.abort();
        }
        return;
      }
      case 'activate':
        await store.activate(step.id, {
          clearance: goal.get().clearance,
          needs: parts.wasReached() ? 'cloud' : 'local',
        });
        return;
      case 'restart':
        return parts.restart(step.to);
      case 'remove':
        return store.remove(step.id);
      case 'forget':
        return store.forget(step.part);
    }
  };

  return {
    name: `${program}-version`,
    get recheckMs() {
      return isSettled ? settledRecheckMs : pendingRecheckMs;
    },
    observe,
    describe: ({ versions, linked, running, trial, leftovers, isHeldBack, mayRestart: isFree }) => ({
      versions: versions.map(({ id }) => id),
      linked,
      running,
      desired: seen.desired,
      revision: seen.revision,
      trial: trial?.to,
      leftovers: leftovers.length,
      isHeldBack,
      mayRestart: isFree,
    }),
    plan,
    apply,
    settled(error) {
      if (error !== undefined) {
        failure = failureOf(error, failure, clock.wall());
        isOfStep = true;
        publish({ failure });
      } else if (isOfStep) {
        failure = undefined;
        isOfStep = false;
        publish({ failure });
      }
      if (error === undefined) publish({ look: seen });
      if (isOfFresh) publish({ isChecked: true });
    },
    isHeld: () => held !== undefined,
    forgetFailures: (because) => {
      if (because === 'asked' || held?.isAsked !== true) held = undefined;
    },
    refresh: async () => void (await observe(new AbortController().signal)),
  };
}

/** The text of DISK_FULL contains the free space, which changes all the time. */
const isSameFailure = (a: { code: string; text: string }, b: { code: string; text: string }): boolean =>
  a.text === b.text || (a.code === 'DISK_FULL' && b.code === 'DISK_FULL');

function failureOf(error: unknown, before: Failure | undefined, wall: number): Failure {
  const [code, text, remedy] =
    error instanceof PlatformError
      ? [error.code, error.what, error.remedy]
      : ['', errorText(error), 'Nothing: it is tried again.'];
  return { code, text, remedy, sinceWall: before && isSameFailure(before, { code, text }) ? before.sinceWall : wall };
}

async function untilOther<T>(cell: Cell<T>, isSame: (value: T) => boolean, signal: AbortSignal): Promise<void> {
  while (isSame(cell.get()) && !signal.aborted) await cell.changed(signal);
}
