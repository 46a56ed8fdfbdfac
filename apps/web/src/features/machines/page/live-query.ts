import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { useTransport } from '@connectrpc/connect-query';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { type GetViewResponse, LiveService } from '@platform/contract/gen/platform/live/v1/live_pb';
import { useEffect, useState } from 'react';
import { useClock } from '../../../ui/time.tsx';
import { msOf, spanOf } from '../../../ui/times.ts';
import type { LiveAnswer, LiveFrame } from './live-state.ts';

const waitMs = 5_000;
const afterFailureMs = 2_000;
/** After an answer without an image: the server answers early if the rights of users have changed. */
const pauseMs = 500;
/** Then the page asks whether to go on. */
const longestMs = 10 * 60_000;

export type LiveMode = 'off' | 'on' | 'hidden' | 'long';

export interface LiveView {
  readonly mode: LiveMode;
  readonly startedAt: number;
  readonly answer: LiveAnswer | undefined;
  readonly error: unknown;
  start(): void;
  stop(): void;
}

interface Seen {
  readonly answer: LiveAnswer | undefined;
  readonly error: unknown;
}
const nothing: Seen = { answer: undefined, error: undefined };

/**
 * The live view of one camera. It ends when the page is hidden, and after ten minutes.
 *
 * @param onSent - receives the bytes that the machine has sent today. The same function at each call.
 */
export function useLiveView(partId: string, camera: string, onSent: (bytes: number) => void): LiveView {
  const transport = useTransport();
  const clock = useClock();
  const [{ mode, startedAt }, setMode] = useState<{ mode: LiveMode; startedAt: number }>({ mode: 'off', startedAt: 0 });
  const [seen, setSeen] = useState<Seen>(nothing);
  useEffect(() => {
    if (mode !== 'on') return undefined;
    const end = new AbortController();
    const { signal } = end;
    const finish = (next: LiveMode): void => setMode((before) => ({ ...before, mode: next }));
    const onVisibility = (): void => {
      if (document.visibilityState === 'hidden') finish('hidden');
    };
    document.addEventListener('visibilitychange', onVisibility, { signal });
    void clock.sleep(longestMs, signal).then(() => signal.aborted || finish('long'));
    const getView = createClient(LiveService, transport).getView;
    const load = async (known: bigint, wait: number): Promise<GetViewResponse> => {
      const view = await getView({ partId, camera, knownSequence: known, wait: durationFromMs(wait) }, { signal });
      onSent(Number(view.bytesToday));
      return view;
    };
    void follow({ load, show: setSeen, wall: () => clock.wall(), sleep: (ms) => clock.sleep(ms, signal) }, signal);
    return () => {
      end.abort();
      setSeen(nothing);
    };
  }, [transport, clock, partId, camera, mode, onSent]);
  return {
    mode,
    startedAt,
    ...seen,
    start: () => setMode({ mode: 'on', startedAt: clock.wall() }),
    stop: () => setMode({ mode: 'off', startedAt: 0 }),
  };
}

interface Following {
  load(known: bigint, waitMs: number): Promise<GetViewResponse>;
  show(seen: Seen | ((before: Seen) => Seen)): void;
  wall(): number;
  sleep(ms: number): Promise<void>;
}

/** Shows each new image until `signal`. */
async function follow({ load, show, wall, sleep }: Following, signal: AbortSignal): Promise<void> {
  let known = 0n;
  let shown: LiveFrame | undefined;
  const replace = (next: LiveFrame | undefined): void => {
    if (shown !== undefined) URL.revokeObjectURL(shown.url);
    shown = next;
  };
  let wait = 0;
  while (!signal.aborted) {
    try {
      const found = await load(known, wait);
      wait = waitMs;
      const isNew = found.sequence !== known;
      if (isNew) {
        const next = found.jpeg.length > 0 ? await frameOf(found) : undefined;
        // Also of a view that ended meanwhile: its last image is freed below.
        replace(next);
        if (signal.aborted) break;
      }
      known = found.sequence;
      show({ answer: answerOf(found, shown, wall()), error: undefined });
      if (!isNew) await sleep(pauseMs);
    } catch (error) {
      if (signal.aborted) break;
      const isRefused = [Code.PermissionDenied, Code.Unauthenticated, Code.NotFound].includes(
        ConnectError.from(error).code,
      );
      // Without the right, nothing of the camera stays on the page.
      show((before) => ({ answer: isRefused ? undefined : before.answer, error }));
      await sleep(afterFailureMs);
    }
  }
  replace(undefined);
}

/** The image, which can be shown without a gap, with the boxes that the machine found in it. */
async function frameOf({ jpeg, boxes }: GetViewResponse): Promise<LiveFrame> {
  const url = URL.createObjectURL(new Blob([new Uint8Array(jpeg)], { type: 'image/jpeg' }));
  const image = new Image();
  image.src = url;
  await image.decode().catch(() => undefined);
  return {
    url,
    // An image that cannot be decoded has no size.
    ratio: image.naturalHeight > 0 ? image.naturalWidth / image.naturalHeight : 16 / 9,
    boxes: boxes.map(({ label, confidence, xMin, yMin, xMax, yMax }, place) => ({
      id: `${place}`,
      label,
      confidence,
      xMin,
      yMin,
      xMax,
      yMax,
    })),
  };
}

function answerOf(found: GetViewResponse, frame: LiveFrame | undefined, now: number): LiveAnswer {
  const age = spanOf(found.age);
  const { problem } = found;
  return {
    state: found.state,
    frame,
    takenOn: msOf(found.takenOn),
    receivedAt: age === undefined ? undefined : now - age,
    problem: problem ? `${problem.message} ${problem.remedy}`.trim() : '',
  };
}
