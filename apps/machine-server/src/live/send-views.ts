import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import type { LiveService } from '@platform/contract/gen/platform/live/v1/live_pb';
import { changedOr, errorText } from '@platform/kit';
import type { Cell, Clock, Log } from '@platform/kit';
import type { Detection } from '../annotations.ts';
import type { DesiredViews } from '../cloud/desired-views.ts';
import { callTimeoutMs } from '../cloud/link.ts';
import type { JpegCodec } from '../images/jpeg-codec.ts';
import type { RunningResources } from '../resources/running.ts';
import { liveImage } from './live-image.ts';
import type { PredictedImage, PredictedImages } from '../resources/predicted-images.ts';

/** Between two images of the machine: two a second, whatever the number of cameras. */
const shortestMs = 500;
/** Making an image may take a fifth of the time of the processor: captures and predictions come first. */
const restsOfWork = 4;
/** A camera ends this long after the last answer that asks for it. */
const lastsMs = 15_000;
const afterProblemMs = 5_000;
const afterFailureMs = 2_000;
/** A predicted image is shown in place of a newer one for as long: two images. Later, the view goes on without boxes. */
const predictedMs = 2 * shortestMs;
/** How often a view looks for the next predicted image meanwhile. */
const lookMs = 100;
/** What the management server takes. */
const most = { boxes: 50, label: 100 } as const;

interface Deps {
  readonly live: Pick<Client<typeof LiveService>, 'sendView'>;
  readonly partId: string;
  readonly desired: Cell<DesiredViews>;
  readonly running: Pick<RunningResources, 'get'>;
  readonly predicted: PredictedImages;
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
  /** The predicted image that was sent last. */
  predicted?: PredictedImage;
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
    deps.predicted.follow(views.keys());
    const view = [...views.values()].toSorted((a, b) => a.due - b.due)[0];
    const waitMs = view ? Math.max(view.due, known.next) - clock.now() : Infinity;
    if (view && waitMs <= 0 && isShown(view, deps)) view.due = clock.now() + lookMs;
    else if (view && waitMs <= 0) {
      const busyMs = await sendOne(deps, view, signal);
      known.next = clock.now() + Math.max(shortestMs, restsOfWork * busyMs);
    } else await changedOr(desired, waitMs, clock, signal);
  }
}

/** Whether the newest predicted image was sent, and is new enough to stay. */
const isShown = ({ camera, predicted: sent }: View, { predicted, clock }: Deps): boolean =>
  sent !== undefined && sent === predicted.newest(camera) && clock.now() - sent.takenAt < predictedMs;

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
  const taken = await takeImage(deps, view, signal);
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

async function takeImage(deps: Deps, view: View, signal: AbortSignal) {
  const { jpeg: codec, clock } = deps;
  const { camera } = view;
  try {
    const { bytes, source, takenAt, boxes } = await newestImage(deps, view, signal);
    const began = clock.now();
    const takenOn = timestampFromMs(Math.round(clock.wall() - (began - takenAt)));
    const jpeg = await liveImage(bytes, source, codec);
    const content = { jpeg, takenOn, boxes: boxes.slice(0, most.boxes).map(wireBox) };
    return { content, busyMs: clock.now() - began, isProblem: false };
  } catch (error) {
    const { code, what, remedy } =
      error instanceof PlatformError
        ? error
        : new PlatformError('CAMERA_FAILED', { name: camera, problem: errorText(error) }, error);
    return { content: { problem: { code, message: what, remedy } }, busyMs: 0, isProblem: true };
  }
}

/** What a detector has just seen, else an image of now. */
async function newestImage(deps: Deps, view: View, signal: AbortSignal): Promise<PredictedImage> {
  const { running, predicted, clock } = deps;
  const found = predicted.newest(view.camera);
  if (found && found !== view.predicted && clock.now() - found.takenAt < predictedMs) {
    view.predicted = found;
    return found;
  }
  const { bytes, source } = await running.get('camera', view.camera).camera.image(signal);
  return { bytes, source, takenAt: clock.now(), boxes: [] };
}

const wireBox = (box: Detection) => ({
  label: box.label.slice(0, most.label).toWellFormed(),
  confidence: box.score,
  xMin: box.x_min_normalized,
  yMin: box.y_min_normalized,
  xMax: box.x_max_normalized,
  yMax: box.y_max_normalized,
});
