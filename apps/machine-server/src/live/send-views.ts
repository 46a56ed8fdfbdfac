import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { LiveService } from '@platform/contract/gen/platform/live/v1/live_pb';
import { changedOr, errorText } from '@platform/kit';
import type { Cell, Clock, Log } from '@platform/kit';
import type { DesiredViews } from '../cloud/desired-views.ts';
import { callTimeoutMs } from '../cloud/link.ts';
import type { JpegCodec } from '../images/jpeg-codec.ts';
import type { RunningResources } from '../resources/running.ts';
import { liveImage } from './live-image.ts';

/** Between two images of the machine: two a second, whatever the number of cameras. */
const shortestMs = 500;
/** Making an image may take a fifth of the time of the processor: captures and predictions come first. */
const restsOfWork = 4;
/** A camera ends this long after the last answer that asks for it. */
const lastsMs = 15_000;
const afterProblemMs = 5_000;
const afterFailureMs = 2_000;

interface Deps {
  readonly live: Pick<Client<typeof LiveService>, 'sendView'>;
  readonly partId: string;
  readonly desired: Cell<DesiredViews>;
  readonly running: Pick<RunningResources, 'get'>;
  readonly jpeg: JpegCodec;
  readonly clock: Clock;
  readonly log: Log;
}

interface View {
  readonly camera: string;
  /** Monotonic times in ms. */
  until: number;
  due: number;
  isFailing: boolean;
}

/** Sends images of the desired cameras, one at a time, until `signal`. */
export async function sendViews(deps: Deps, signal: AbortSignal): Promise<void> {
  const { desired, clock, log } = deps;
  const views = new Map<string, View>();
  const known: { desired?: DesiredViews; next: number } = { next: clock.now() };
  while (!signal.aborted) {
    if (known.desired !== desired.get()) {
      known.desired = desired.get();
      follow(views, known.desired, deps);
    }
    for (const { camera, until } of views.values())
      if (until <= clock.now() && views.delete(camera)) log.info('live view ends', { camera });
    const view = [...views.values()].toSorted((a, b) => a.due - b.due)[0];
    const waitMs = view ? Math.max(view.due, known.next) - clock.now() : Infinity;
    if (view && waitMs <= 0) {
      const busyMs = await sendOne(deps, view, signal);
      known.next = clock.now() + Math.max(shortestMs, restsOfWork * busyMs);
    } else await changedOr(desired, waitMs, clock, signal);
  }
}

function follow(views: Map<string, View>, { cameras }: DesiredViews, { clock, log }: Deps): void {
  const now = clock.now();
  for (const camera of views.keys())
    if (!cameras.includes(camera) && views.delete(camera)) log.info('live view ends', { camera });
  for (const camera of cameras) {
    const view = views.get(camera);
    if (view) view.until = now + lastsMs;
    else {
      views.set(camera, { camera, until: now + lastsMs, due: now, isFailing: false });
      log.info('live view begins', { camera });
    }
  }
}

/** @returns for how long it kept the processor busy, ms. */
async function sendOne(deps: Deps, view: View, signal: AbortSignal): Promise<number> {
  const { live, partId, clock, log } = deps;
  const { camera } = view;
  const taken = await takeImage(deps, camera, signal);
  if (signal.aborted) return 0;
  try {
    const options = { signal, timeoutMs: callTimeoutMs };
    const { isWanted } = await live.sendView({ partId, camera, ...taken.content }, options);
    const now = clock.now();
    view.until = isWanted ? now + lastsMs : now;
    view.due = taken.isProblem ? now + afterProblemMs : now;
    view.isFailing = false;
  } catch (error) {
    if (!view.isFailing && !signal.aborted) log.warn('live view is not taken', { camera, problem: errorText(error) });
    view.isFailing = true;
    view.due = clock.now() + afterFailureMs;
  }
  return taken.busyMs;
}

async function takeImage({ running, jpeg: codec, clock }: Deps, camera: string, signal: AbortSignal) {
  try {
    const { bytes, source } = await running.get('camera', camera).camera.image(signal);
    const takenOn = timestampFromMs(Math.round(clock.wall()));
    const began = clock.now();
    const jpeg = await liveImage(bytes, source, codec);
    return { content: { jpeg, takenOn }, busyMs: clock.now() - began, isProblem: false };
  } catch (error) {
    const { code, what, remedy } =
      error instanceof PlatformError
        ? error
        : new PlatformError('CAMERA_FAILED', { name: camera, problem: errorText(error) }, error);
    return { content: { problem: { code, message: what, remedy } }, busyMs: 0, isProblem: true };
  }
}
