import type { StatusLabel } from './status-label.ts';

/** What is known of the contact with the server. Times in ms since 1970. */
export interface Contact {
  /** The last answer; 0: none yet. */
  readonly answered: number;
  /** A call failed without an answer of the server since then. */
  readonly isFailing: boolean;
  /** When the oldest call that waits was made; undefined: none waits. */
  readonly waitingSince: number | undefined;
}

export const initialContact: Contact = { answered: 0, isFailing: false, waitingSince: undefined };

/** A call that takes longer, without an answer to any other, counts as failed: packets can get lost silently. */
export const longestWaitMs = 10_000;

/** Since when the page is without contact; undefined: what it shows is as current as it can be. */
export function lostSince({ answered, isFailing, waitingSince }: Contact, now: number): number | undefined {
  if (answered === 0) return undefined; // the page says itself that nothing was loaded
  const isWaiting = waitingSince !== undefined && now - Math.max(waitingSince, answered) > longestWaitMs;
  return isFailing || isWaiting ? answered : undefined;
}

/** The state of a machine, as far as the page can know it. */
export const knownState = (state: StatusLabel, isLost: boolean): StatusLabel =>
  isLost ? { tone: 'quiet', text: `Was ${state.text.toLowerCase()}` } : state;
