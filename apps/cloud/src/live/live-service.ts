import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ConnectRouter, HandlerContext } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type GetViewRequest,
  type GetViewResponseSchema,
  LiveService,
  type SendViewRequest,
  ViewState,
} from '@platform/contract/gen/platform/live/v1/live_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import type { Caller } from '../access/rules/permissions.ts';
import type { Changes } from '../database/changes.ts';
import type { Database } from '../database/database.ts';
import { type ConcurrencyLimiter, concurrencyLimiter } from '../device-api/concurrency-limiter.ts';
import type { MachineConfigs } from '../device-api/machine-configs.ts';
import { operatedPart, ownPartId } from '../machines/part-access.ts';
import type { Presence } from '../machines/presence.ts';
import type { PartRow } from '../machines/store/machines.ts';
import { longPoll } from '../rpc/long-poll.ts';
import { durationMs, durationOf, msOf, timeOf } from '../rpc/protobuf-times.ts';
import { shortText } from '../rpc/rules/field-checks.ts';
import type { LiveRequests } from './live-requests.ts';
import { type KnownView, liveLimits, type ViewBox } from './rules/live-views.ts';
import { viewState } from './rules/view-state.ts';
import { imageHeader } from '@platform/dataset-files/image-header';

const longestWaitMs = 5_000;
/** Calls that wait at the same time. */
const mostOfCaller = 8;
const mostOfServer = 1_000;
const longestName = 200;
/** Characters of a text of a machine. */
const longestText = 500;

type LiveDeps = {
  db: Database;
  live: LiveRequests;
  configs: Pick<MachineConfigs, 'wake'>;
  presence: Presence;
  changes: Changes;
  clock: Clock;
  stop: AbortSignal;
};
type Waiting = { count: number; readonly ofCaller: ConcurrencyLimiter };

export const liveRoutes = (deps: LiveDeps) => {
  const waiting: Waiting = { count: 0, ofCaller: concurrencyLimiter(mostOfCaller) };
  return (router: ConnectRouter): void => {
    router.service(LiveService, {
      sendView: (request, context) => sendView(deps, request, callerOf(context)),
      getView: (request, context) => getView(deps, request, { waiting, context }),
    });
  };
};

const tooMany = (limit: string): PlatformError => new PlatformError('TOO_MANY_REQUESTS', { limit });

async function sendView({ db, live, presence }: LiveDeps, request: SendViewRequest, caller: Caller) {
  const { jpeg, takenOn, problem, boxes } = request;
  const partId = await ownPartId(db, caller, request.partId);
  const camera = shortText('camera', request.camera, longestName);
  presence.touch(partId);
  const invalid = jpeg.length > 0 ? viewProblem(jpeg) : problem ? undefined : noImage;
  if (invalid) throw new PlatformError('INVALID_ARGUMENT', { field: 'jpeg', ...invalid });
  const badBoxes = boxesProblem(boxes);
  if (badBoxes) throw new PlatformError('INVALID_ARGUMENT', { field: 'boxes', ...badBoxes });
  const cut = (text: string): string => text.slice(0, longestText).toWellFormed();
  const words = problem && jpeg.length === 0 ? problem : undefined;
  const view = {
    // A copy: the message shares its memory with the whole request.
    jpeg: jpeg.slice(),
    takenOn: takenOn && msOf(takenOn),
    boxes: jpeg.length > 0 ? boxes.map(boxOf) : [],
    problem: words && { code: cut(words.code), message: cut(words.message), remedy: cut(words.remedy) },
  };
  const outcome = live.views.take(partId, camera, view, live.time());
  if (outcome === 'too often') throw tooMany(`${liveLimits.perSecond} images a second of one camera`);
  live.wake(partId, camera);
  return { isWanted: outcome.isWanted, bytesLeft: BigInt(outcome.bytesLeft) };
}

const noImage = { value: '', limit: 'an image, or a problem' };

type Seen = { view: KnownView | undefined; part: PartRow };

async function getView(
  deps: LiveDeps,
  request: GetViewRequest,
  { waiting, context }: { waiting: Waiting; context: HandlerContext },
): Promise<MessageInitShape<typeof GetViewResponseSchema>> {
  const { db, live, configs } = deps;
  const caller = callerOf(context);
  const part = await operatedPart(db, caller, request.partId);
  if (request.isLook) return answerOf(deps, { part, view: undefined }, 0);
  const camera = shortText('camera', request.camera, longestName);
  const asked = live.views.want(part.id, camera, live.time());
  if (asked === 'full') throw tooMany(`${liveLimits.cameras} other cameras of this machine are looked at live`);
  if (asked === 'asked') configs.wake(part.id);
  const known = Number(request.knownSequence);
  const newest = (): KnownView | undefined => live.views.newest(part.id, camera);
  const waitMs = Math.min(durationMs(request.wait), longestWaitMs);
  if (!(waitMs > 0) || isNew(newest(), known)) return answerOf(deps, { part, view: newest() }, known);
  const rights = rightsChanges(deps.changes);
  const signal = AbortSignal.any([context.signal, deps.stop, rights.signal]);
  try {
    const view = await heldView(deps, { partId: part.id, camera, caller, known, waitMs, waiting, signal });
    // The caller may have lost its right meanwhile: its next call shows it.
    if (rights.signal.aborted) return { state: ViewState.WAITING, sequence: request.knownSequence };
    return answerOf(deps, { part: await operatedPart(db, caller, part.id), view }, known);
  } finally {
    rights.end();
  }
}

const isNew = (view: KnownView | undefined, known: number): boolean => view !== undefined && view.sequence !== known;

async function heldView(
  { live, clock }: LiveDeps,
  of: {
    partId: string;
    camera: string;
    caller: Caller;
    known: number;
    waitMs: number;
    waiting: Waiting;
    signal: AbortSignal;
  },
): Promise<KnownView | undefined> {
  const { partId, camera, caller, known, waiting } = of;
  if (waiting.count >= mostOfServer) throw tooMany(`${mostOfServer} calls of the server wait for live images`);
  waiting.count++;
  try {
    return await longPoll({
      probe: async () => live.views.newest(partId, camera),
      isNews: (view) => isNew(view, known),
      watch: (wake) => live.watch(partId, camera, wake),
      enter: (evict) =>
        waiting.ofCaller.take(`${caller.kind} ${caller.id}`, () =>
          evict(tooMany(`${mostOfCaller} newer calls of this caller wait for live images`)),
        ),
      waitMs: of.waitMs,
      clock,
      signal: of.signal,
    });
  } finally {
    waiting.count--;
  }
}

function answerOf(
  { live, presence, clock }: LiveDeps,
  { part, view }: Seen,
  known: number,
): MessageInitShape<typeof GetViewResponseSchema> {
  const time = live.time();
  const state = viewState({
    view,
    isLimitReached: live.views.isLimitReached(part.id, time),
    isOnline: presence.online(part.id, part.lastSeen) === 'online',
    server: live.serverOf(part.id),
    now: time.now,
  });
  return {
    state,
    bytesToday: BigInt(live.views.bytesToday(part.id, time)),
    bytesPerDay: BigInt(live.views.dayBytes),
    ...(view && {
      sequence: BigInt(view.sequence),
      ...(view.sequence !== known && { jpeg: view.jpeg, boxes: [...view.boxes] }),
      ...(view.takenOn !== undefined && { takenOn: timeOf(view.takenOn) }),
      age: durationOf(clock.now() - view.receivedAt),
      ...(view.problem && { problem: view.problem }),
    }),
  };
}

/** Aborts the signal when the rights of any key or user may have changed. */
function rightsChanges(changes: Changes): { signal: AbortSignal; end(): void } {
  const changed = new AbortController();
  const end = changes.subscribe((kind) => {
    if (kind === undefined || kind === 'api_key' || kind === 'person' || kind === 'session') changed.abort();
  });
  return { signal: changed.signal, end };
}

const boxOf = ({ label, confidence, xMin, yMin, xMax, yMax }: ViewBox): ViewBox => ({
  label: label.slice(0, liveLimits.label).toWellFormed(),
  confidence,
  xMin,
  yMin,
  xMax,
  yMax,
});

/** Why sent boxes cannot be kept. */
export function boxesProblem(boxes: readonly ViewBox[]): { value: string; limit: string } | undefined {
  if (boxes.length > liveLimits.boxes) return { value: `${boxes.length}`, limit: `at most ${liveLimits.boxes}` };
  const isShare = (value: number): boolean => value >= 0 && value <= 1;
  const bad = boxes.find(
    ({ confidence, xMin, yMin, xMax, yMax }) =>
      ![confidence, xMin, yMin, xMax, yMax].every(isShare) || xMin >= xMax || yMin >= yMax,
  );
  if (!bad) return undefined;
  const { confidence, xMin, yMin, xMax, yMax } = bad;
  const value = [confidence, xMin, yMin, xMax, yMax].join(' ');
  return { value, limit: 'shares from 0 to 1, each edge before the one across' };
}

/** Why a sent image cannot be kept. @returns the value and its limit; undefined: it is kept. */
export function viewProblem(jpeg: Uint8Array): { value: string; limit: string } | undefined {
  const { imageBytes, side } = liveLimits;
  if (jpeg.length > imageBytes) return { value: `${jpeg.length} bytes`, limit: `at most ${imageBytes} bytes` };
  const found = imageHeader(jpeg, true);
  if (!('header' in found) || found.header.type !== 'jpg') {
    const value = 'problem' in found ? `a file that ${found.problem}` : 'an image of another type';
    return { value, limit: 'a JPEG image' };
  }
  const { width, height } = found.header;
  if (Math.max(width, height) > side) return { value: `${width} × ${height} pixels`, limit: `at most ${side} a side` };
  return undefined;
}
