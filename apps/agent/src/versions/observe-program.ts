import { contentOf, type InstallStatus, type Release, type UpdateAttempt } from '../state/state.ts';
import { isCustom, shownUrl, shownVersion } from '../state/version-names.ts';
import type { Bad } from '../state/trial-file.ts';
import { nameOf } from './layout.ts';
import { nextAttempt, describeReason } from './plans/next-update.ts';
import { wantedId, type Goal, type Have } from './plans/update-plan.ts';
import { restartDecision, waitOf } from './restart-decision.ts';
import type { Installed } from './version-folders.ts';
import { publishStatus, releaseKey, type ProgramVersionParts, type VersionState } from './reconciler-state.ts';

const attemptTexts: Record<UpdateAttempt['at'], string> = {
  downloading: 'downloading',
  staged: 'stored',
  trying: 'the new version is on trial',
  healthy: 'the new version is in use',
  reverted: 'the new version was rolled back',
  failed: 'failed',
  superseded: 'another version is desired before this one was proven',
};

/** Reads the observed state of one program from the disk, and publishes it. */
export async function observeVersion(
  parts: ProgramVersionParts,
  state: VersionState,
  signal: AbortSignal,
): Promise<Have> {
  const { goal } = parts;
  const first = goal.get(); // another goal may follow while this pass reads the disk
  state.isOfFresh = first.isFresh;
  const { want } = first;
  const release = want?.is === 'release' ? want.release : undefined;
  const { installed, have } = await readHave(parts, state, release, signal);
  state.seen = { ...contentOf(first), desired: wantedId(goal.get(), have) };
  state.isSettled =
    (want === undefined || have.linked === state.seen.desired) &&
    have.running === have.linked &&
    have.trial === undefined &&
    state.held === undefined &&
    release?.sha256 !== '';
  const attempt = await advanceAttempt(parts, have, state.seen.desired);
  state.urls = urlsOf(state.urls, installed, have);
  publishStatus(parts, statusOf(parts, state, { goal: first, installed, have, attempt }));
  return have;
}

async function readHave(
  parts: ProgramVersionParts,
  state: VersionState,
  release: Release | undefined,
  signal: AbortSignal,
): Promise<{ installed: readonly Installed[]; have: Have }> {
  const { store, sources, goal, clock } = parts;
  const [installed, linked, previous, trial, quarantined] = [
    await store.list(),
    await store.linked(),
    await store.previous(),
    await store.trial(),
    await readQuarantine(parts),
  ];
  if (release && state.held?.key !== releaseKey(release)) {
    state.held = undefined;
    state.failure = undefined;
  }
  const have: Have = {
    versions: installed.map(({ id, sizeBytes }) => ({ id, sizeBytes })),
    linked,
    running: parts.running(),
    previous,
    trial,
    quarantined,
    known: release?.sha256 === '' ? await sources.known(release.url, signal) : null,
    leftovers: await store.leftovers(),
    isHeldBack: state.held !== undefined && clock.now() < state.held.until,
    mayActivate: parts.mayActivate,
    mayRestart: parts.canRestart && (goal.get().isUrgent || restartDecision(parts, linked).is === 'allowed'),
  };
  return { installed, have };
}

/** A management server that was restored from a backup counts clearances from a smaller number: its next one counts. */
async function readQuarantine({ store, goal }: Pick<ProgramVersionParts, 'store' | 'goal'>): Promise<Bad[]> {
  const { isFresh, clearance } = goal.get();
  const quarantined = await store.bad();
  if (!isFresh || quarantined.every((bad) => bad.clearance <= clearance)) return quarantined;
  await store.lowerClearance(clearance).catch(() => {}); // a full disk: the next pass repeats it
  return store.bad();
}

/** Records and logs the next state of the last update. */
async function advanceAttempt(
  { program, attempts, clock, log }: ProgramVersionParts,
  have: Have,
  desired: string | null,
): Promise<UpdateAttempt | undefined> {
  const last = attempts.get(program);
  const next = nextAttempt(last, have, clock.wall(), desired);
  if (next !== last && next) {
    await attempts.set(program, next);
    log.info(attemptTexts[next.at], { id: next.id, ...(next.reason !== '' && { reason: next.reason }) });
  }
  return next;
}

/** The URLs of the stored builds, and of those in quarantine. */
const urlsOf = (
  before: VersionState['urls'],
  installed: readonly Installed[],
  { quarantined }: Have,
): VersionState['urls'] => ({
  ...Object.fromEntries(Object.entries(before).filter(([id]) => quarantined.some((one) => one.id === id))),
  ...Object.fromEntries(
    installed.flatMap(({ id, about }) => (about && isCustom(id) ? [[id, shownUrl(about.url)]] : [])),
  ),
});

function statusOf(
  parts: ProgramVersionParts,
  { urls, failure }: VersionState,
  of: { goal: Goal; installed: readonly Installed[]; have: Have; attempt: UpdateAttempt | undefined },
): Partial<InstallStatus> {
  const { program, exits, goal, elsewhere } = parts;
  const { installed, have, attempt } = of;
  const { linked, running, trial } = have;
  const { want, clearance } = of.goal;
  const isUnsigned = (id: string | null): boolean => installed.find((one) => one.id === id)?.about?.target === '';
  const isWaiting = linked !== null && running !== null && running !== linked;
  const wait = isWaiting ? waitOf(parts, linked) : undefined;
  return {
    installed: linked,
    running,
    previous: trial?.from ?? have.previous,
    trial,
    quarantined: have.quarantined
      .filter((bad) => bad.clearance >= clearance)
      .toReversed()
      .map((bad) => ({ ...bad, exit: exits.get(program, bad.id) })),
    lastUpdate: attempt,
    urls,
    isUnsigned: isUnsigned(running ?? linked),
    isInstalledUnsigned: isUnsigned(linked),
    wait,
    pin: want?.is === 'installed' && isCustom(want.id) ? shownVersion(want.id, urls) : goal.get().pin,
    failure,
    why: describeReason(nameOf(program), goal.get(), have, failure, attempt, { urls, elsewhere, wait }),
  };
}
