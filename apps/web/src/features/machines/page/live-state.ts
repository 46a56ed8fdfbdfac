// What the page says of the live view of a camera.
import { ViewState } from '@platform/contract/gen/platform/live/v1/live_pb';
import type { Box } from '../../../entities/image/boxes.ts';
import { bytes } from '../../../ui/quantities.ts';
import type { StatusLabel } from '../../../ui/status-label.ts';
import { span } from '../../../ui/times.ts';

/** An image of a camera, with what a detector of the machine found in this very image. */
export interface LiveFrame {
  readonly url: string;
  /** Width by height. */
  readonly ratio: number;
  readonly boxes: readonly Box[];
}

/** The last answer about a camera. Times in ms since 1970. */
export interface LiveAnswer {
  readonly state: ViewState;
  /** The newest image; undefined: there is none. */
  readonly frame: LiveFrame | undefined;
  /** By the clock of the machine. */
  readonly takenOn: number | undefined;
  /** When the server received the image or the problem, by the clock of this page. */
  readonly receivedAt: number | undefined;
  /** In the words of the machine; empty: none. */
  readonly problem: string;
}

/** An image is shown as of now for this long. */
const freshMs = 5_000;
/** A machine repeats the problem of a camera every five seconds. */
const repeatedMs = 15_000;

/** Whether there is no live view at all, and why; undefined: there can be one. */
export function whyNoView(state: ViewState, bytesPerDay: number): string | undefined {
  switch (state) {
    case ViewState.OFFLINE:
      return 'the machine is offline.';
    case ViewState.SERVER_SILENT:
      return 'its machine server has not checked its configuration for two minutes.';
    case ViewState.NOT_SUPPORTED:
      return 'its machine server does not know live views. Update it.';
    case ViewState.LIMIT_REACHED:
      return bytesPerDay === 0
        ? 'this server takes none (--live-mb-per-day).'
        : `it sent the ${bytes(bytesPerDay)} of this day. The next day begins at midnight UTC.`;
    default:
      return undefined;
  }
}

export interface LiveLabel {
  readonly badge: StatusLabel;
  /** In place of an image. */
  readonly text: string;
  /** The image is of now. */
  readonly isLive: boolean;
}

/** @param startedAt - when the user began to look. */
export function liveLabel(answer: LiveAnswer | undefined, of: { startedAt: number; now: number }): LiveLabel {
  const { now } = of;
  const quiet = (text: string): LiveLabel => ({ badge: { tone: 'quiet', text: 'no image' }, text, isLive: false });
  const why = answer && whyNoView(answer.state, 1);
  const waits = `Waits for the first image for ${span(now - of.startedAt)}.`;
  if (answer?.receivedAt === undefined) return quiet(why === undefined ? waits : `No live view: ${why}`);
  const age = now - answer.receivedAt;
  if (answer.problem !== '') {
    const badge: StatusLabel =
      age <= repeatedMs ? { tone: 'bad', text: 'no image' } : { tone: 'warn', text: `no answer for ${span(age)}` };
    return { badge, text: answer.problem, isLive: false };
  }
  if (answer.frame === undefined) return quiet(waits);
  if (age <= freshMs) return { badge: { tone: 'good', text: 'live' }, text: '', isLive: true };
  return { badge: { tone: 'warn', text: `no image for ${span(age)}` }, text: '', isLive: false };
}
