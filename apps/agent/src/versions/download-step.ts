import { PlatformError } from '@platform/contract/errors/errors';
import type { Cell } from '@platform/kit';
import type { Release, UpdateAttempt } from '../state/state.ts';
import { isCustom, describeRequested, shownUrl, shownVersion } from '../state/version-names.ts';
import { heldAfter } from './backoff.ts';
import { nameOf } from './layout.ts';
import type { Goal } from './plans/update-plan.ts';
import type { Fetched } from './fetch-ports.ts';
import {
  failureOf,
  isSameFailure,
  publishStatus,
  releaseKey,
  sliceOf,
  type ProgramVersionParts,
  type VersionState,
} from './reconciler-state.ts';

const progressMs = 5_000;

/** Downloads a release while it is the desired one. A download may take hours, so a new goal ends it. */
export async function downloadDesired(
  parts: ProgramVersionParts,
  state: VersionState,
  planned: Pick<Release, 'url' | 'sha256' | 'version'>,
  signal: AbortSignal,
): Promise<void> {
  const { goal, log } = parts;
  const { want } = goal.get();
  const key = releaseKey(planned);
  if (want?.is !== 'release' || releaseKey(want.release) !== key) return;
  const stop = new AbortController();
  const isSame = (now: Goal) => now.want?.is === 'release' && releaseKey(now.want.release) === key;
  void untilOther(goal, isSame, AbortSignal.any([stop.signal, signal])).then(() => stop.abort());
  try {
    await download(parts, state, want.release, AbortSignal.any([signal, stop.signal]));
  } catch (error) {
    if (!stop.signal.aborted || signal.aborted) throw error;
    log.info('the download is ended: something else is wanted', { version: planned.version });
  } finally {
    stop.abort();
  }
}

async function download(
  parts: ProgramVersionParts,
  state: VersionState,
  release: Release,
  signal: AbortSignal,
): Promise<void> {
  const { program, attempts, clock } = parts;
  const before = attempts.get(program);
  const attempt = newAttempt(parts, state, release);
  const isRepeated = before?.version === attempt.version && before.id === attempt.id && before.at === 'failed';
  // Persisted only when the attempt ends: repeated failures must not wear out the disk.
  publishStatus(parts, { lastUpdate: isRepeated ? { ...attempt, sinceWall: before.sinceWall } : attempt });
  let published = clock.now();
  try {
    const got = await parts.fetcher.fetch(
      { ...release, program, platform: parts.platform },
      ({ bytes, ofBytes }) => {
        if (clock.now() - published < progressMs) return; // each change triggers a report to the management server
        published = clock.now();
        publishStatus(parts, { lastUpdate: { ...attempt, downloadedBytes: bytes, sizeBytes: ofBytes } });
      },
      signal,
    );
    await keepDownloaded(parts, state, { release, attempt, got });
  } catch (error) {
    if (signal.aborted) throw error;
    await holdBack(parts, state, { release, attempt, before: isRepeated ? before : undefined, error });
  }
}

function newAttempt(
  { program, store, actual, clock }: ProgramVersionParts,
  { urls }: VersionState,
  release: Release,
): UpdateAttempt {
  const { version, sha256, sizeBytes } = release;
  const id = sha256 === '' ? '' : store.idOf({ version, sha256 });
  const { installed } = actual.get()[sliceOf[program]];
  return {
    id,
    version: describeRequested(release, id || null, urls),
    from: installed === null ? '' : shownVersion(installed, urls),
    at: 'downloading',
    code: '',
    reason: '',
    sinceWall: clock.wall(),
    downloadedBytes: 0,
    sizeBytes,
    isByDelta: false,
  };
}

/** Records a downloaded version. @throws PlatformError PROGRAM_REFUSED if it must not be used here */
async function keepDownloaded(
  { program, store, sources, attempts, goal, log }: ProgramVersionParts,
  state: VersionState,
  { release, attempt, got }: { release: Release; attempt: UpdateAttempt; got: Fetched },
): Promise<void> {
  const { url, sha256 } = release;
  const sizes = { downloadedBytes: got.sizeBytes, sizeBytes: got.sizeBytes, isByDelta: got.isByDelta };
  state.held = undefined;
  if (sha256 === '') await sources.learn(url, { id: got.id, stamp: got.stamp });
  if (isCustom(got.id)) state.urls = { ...state.urls, [got.id]: shownUrl(url) };
  if (got.refusal !== undefined) {
    await store.quarantine(got.id, got.refusal, goal.get().clearance);
    const { version } = attempt;
    throw new PlatformError('PROGRAM_REFUSED', { program: nameOf(program), version, problem: got.refusal });
  }
  state.failure = undefined;
  log.info('downloaded', { id: got.id, bytes: got.sizeBytes, isByDelta: got.isByDelta });
  const version = describeRequested(release, got.id, state.urls);
  await attempts.set(program, { ...attempt, ...sizes, version, id: got.id, at: 'staged' });
}

/** Records a failed download and delays its retry. `before`: the attempt that this one repeats. */
async function holdBack(
  parts: ProgramVersionParts,
  state: VersionState,
  of: { release: Release; attempt: UpdateAttempt; before: UpdateAttempt | undefined; error: unknown },
): Promise<void> {
  const { program, attempts, goal, clock, log } = parts;
  const { release, attempt, before, error } = of;
  const failure = failureOf(error, state.failure, clock.wall());
  state.failure = failure;
  const isFinal = error instanceof PlatformError && error.code === 'PROGRAM_REFUSED';
  const wait = error instanceof PlatformError ? Number(error.data['retryAfterSeconds'] ?? 0) : 0;
  const held = heldAfter(state.held, releaseKey(release), clock.now(), parts.random, wait * 1000);
  state.held = held;
  const idleMs = Math.round(held.until - clock.now());
  log.warn(isFinal ? 'refused' : 'not downloaded', {
    version: release.version,
    error,
    ...(!isFinal && { idleMs }),
  });
  if (!before || !isSameFailure({ code: before.code, text: before.reason }, failure)) {
    const sinceWall = before ? before.sinceWall : clock.wall();
    await attempts.set(program, { ...attempt, at: 'failed', code: failure.code, reason: failure.text, sinceWall });
  }
  if (goal.get().isFresh) publishStatus(parts, { isChecked: true });
}

async function untilOther<T>(cell: Cell<T>, isSame: (value: T) => boolean, signal: AbortSignal): Promise<void> {
  while (isSame(cell.get()) && !signal.aborted) await cell.changed(signal);
}
