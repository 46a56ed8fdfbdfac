import { useQuery } from '@connectrpc/connect-query';
import { LiveService } from '@platform/contract/gen/platform/live/v1/live_pb';
import { useCallback, useState } from 'react';
import { Badge } from '../../../ui/badges.tsx';
import { useClock, useNow } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { failureOf } from '../../../ui/failures.ts';
import { bytes } from '../../../ui/quantities.ts';
import { bothMoments, localClock } from '../../../ui/times.ts';
import { isolateText } from '../../../ui/user-text.ts';
import { boxText, ImageBox } from './image-box.tsx';
import type { LiveMode, LiveView } from './live-query.ts';
import { type LiveFrame, liveLabel, whyNoView } from './live-state.ts';
import './live.css';

const lookMs = 15_000;
/** What prevents a live view is often over soon: a machine server that starts. */
const lookAgainMs = 5_000;

export interface LiveAccess {
  readonly isOffered: boolean;
  /** Why there is none, or what was sent today; empty: not known, or the user may not look. */
  readonly text: string;
  /** Takes what an answer of a live view says was sent today. */
  onSent(bytes: number): void;
}

/** Whether the cameras of a machine can be looked at live. */
export function useLiveAccess(partId: string): LiveAccess {
  const clock = useClock();
  const look = { partId, isLook: true };
  const { data, dataUpdatedAt } = useQuery(LiveService.method.getView, look, {
    refetchInterval: ({ state }) =>
      state.data && whyNoView(state.data.state, Number(state.data.bytesPerDay)) === undefined ? lookMs : lookAgainMs,
  });
  const [latest, setLatest] = useState({ sent: 0, at: 0 });
  const onSent = useCallback((sent: number) => setLatest({ sent, at: clock.wall() }), [clock]);
  if (!data) return { isOffered: false, text: '', onSent };
  const perDay = Number(data.bytesPerDay);
  const why = whyNoView(data.state, perDay);
  if (why !== undefined) return { isOffered: false, text: `No live view: ${why}`, onSent };
  const sent = latest.at > dataUpdatedAt ? latest.sent : Number(data.bytesToday);
  return { isOffered: true, text: `Live views sent ${bytes(sent)} of ${bytes(perDay)} today (UTC).`, onSent };
}

const buttons: Readonly<Record<LiveMode, readonly [text: string, about: string]>> = {
  off: ['Live', 'Live view of'],
  on: ['Stop', 'Stop the live view of'],
  hidden: ['Continue', 'Continue the live view of'],
  long: ['Continue', 'Continue the live view of'],
};

/** Begins or ends the live view. It lies on the image: nothing moves when it appears. */
export function LiveButton({ view, camera, isOffered }: { view: LiveView; camera: string; isOffered: boolean }) {
  if (view.mode === 'off' && !isOffered) return null;
  const [text, about] = buttons[view.mode];
  return (
    <button
      type="button"
      className="button button-small live-button"
      aria-label={`${about} ${isolateText(camera)}`}
      onClick={view.mode === 'on' ? view.stop : view.start}
    >
      {text}
    </button>
  );
}

/** The newest image, or why there is none. */
export function LiveImage({ view, camera }: { view: LiveView; camera: string }) {
  const now = useNow();
  if (view.mode === 'hidden') return <LiveText text="The live view ended while this page was hidden." />;
  if (view.mode === 'long') return <LiveText text="Still watching? The live view ended after 10 minutes." />;
  const { text, isLive } = liveLabel(view.answer, { startedAt: view.startedAt, now });
  const failure = view.error === undefined ? undefined : failureOf(view.error);
  const frame = view.answer?.frame;
  if (text !== '' || frame === undefined)
    return <LiveText text={failure ? `${failure.what} ${failure.remedy}` : text} />;
  return <FrameImage frame={frame} camera={camera} isLive={isLive} />;
}

/** Boxes are of the same image, so they stay with it while it grows old. */
const FrameImage = ({ frame, camera, isLive }: { frame: LiveFrame; camera: string; isLive: boolean }) => {
  const { url, ratio, boxes } = frame;
  const found = boxes.map(boxText).join(', ');
  return (
    <div className="story-frame" style={{ aspectRatio: ratio, ['--ratio' as string]: ratio }}>
      <img
        className={`live-image ${isLive ? '' : 'is-past'}`}
        src={url}
        alt={`Live image of ${isolateText(camera)}${found === '' ? '' : `: ${found}`}`}
      />
      {boxes.map((box) => (
        <ImageBox key={box.id} box={box} />
      ))}
    </div>
  );
};

const LiveText = ({ text }: { text: string }) => (
  <p className="soft small live-text">
    <UserText text={text} />
  </p>
);

/** How old the image is, and when it was taken. */
export function LiveCaption({ view }: { view: LiveView }) {
  const now = useNow();
  if (view.mode !== 'on') return <span className="soft small push">not live</span>;
  const { badge } = liveLabel(view.answer, { startedAt: view.startedAt, now });
  const taken = view.answer?.frame === undefined ? undefined : view.answer.takenOn;
  return (
    <>
      <Badge state={badge} />
      {taken !== undefined && (
        <time className="soft small push live-time" title={bothMoments(taken)}>
          {localClock(taken).slice(0, -2)}
        </time>
      )}
    </>
  );
}
