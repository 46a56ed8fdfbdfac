/**
 * State machine of the dispatcher for one attempt that an engine runs. The attempt reports its progress, uploads and
 * reports its final status. The dispatcher submits it, renews its lease and forwards a cancel. If the attempt dies
 * without a final status, the dispatcher reports the engine's status. Instants are ms of the monotonic clock. Every
 * effect answers with one event. Decision 0006.
 */
import type { Failure } from '../attempt-life.ts';
import type { EngineStatus } from './engine.ts';

/** Why the dispatcher ends a job. `drop`: the lease is lost, so it reports nothing. */
export type Will = 'stop' | 'drop' | 'handBack';

/** When to poll the engine next. */
interface PollState {
  readonly at: number;
  readonly paceMs: number;
  /** When the engine stopped answering. */
  readonly silentSince: number | undefined;
}
export type State =
  | { readonly at: 'submitting'; readonly since: number; readonly next: number; readonly will: Will | 'run' }
  | { readonly at: 'waiting'; readonly since: number; readonly why: string; readonly polling: PollState }
  | { readonly at: 'running'; readonly polling: PollState }
  /** The job must end. `cancelAt`: when the dispatcher cancels it in the engine; before that the attempt may exit. */
  | { readonly at: 'ending'; readonly will: Will; readonly cancelAt: number; readonly polling: PollState }
  /** The dispatcher is reporting the final status to the queue. */
  | { readonly at: 'closing' }
  | { readonly at: 'ended' }
  /** This dispatcher ends; the attempt continues, and the next dispatcher takes over. */
  | { readonly at: 'left' };

export type Event =
  /** `isKnown`: an earlier run of the dispatcher submitted it. */
  | { readonly is: 'begin'; readonly isKnown: boolean }
  | { readonly is: 'submitted' }
  | { readonly is: 'refused'; readonly failure: Failure }
  | { readonly is: 'unreachable'; readonly problem: string }
  | { readonly is: 'seen'; readonly status: EngineStatus }
  | { readonly is: 'stopOrdered' }
  | { readonly is: 'leaseLost' }
  | { readonly is: 'shutdown' }
  | { readonly is: 'reported' }
  | { readonly is: 'due' };

export type Effect =
  | { readonly do: 'submit' }
  | { readonly do: 'poll' }
  | { readonly do: 'cancel' }
  /** A line for the job's log. */
  | { readonly do: 'note'; readonly text: string }
  | { readonly do: 'fail'; readonly failure: Failure | EngineFailure }
  | { readonly do: 'confirmStop' };

/** A failure whose message needs the engine's name and reference. */
export type EngineFailure =
  | { readonly because: 'ended'; readonly status: Extract<EngineStatus, { at: 'ended' | 'absent' }> }
  | { readonly because: 'stuck'; readonly why: string; readonly minutes: number }
  | { readonly because: 'unreachable'; readonly problem: string }
  | { readonly because: 'handedBack' };

export interface DispatchTimeouts {
  readonly firstPollMs: number;
  readonly maxPollMs: number;
  /** How long to wait for an engine that does not answer. */
  readonly silenceMs: number;
  /** How long to wait for a job that cannot start until an operator fixes something. */
  readonly stuckMs: number;
  /** How long a job may wait in the engine's queue; Infinity: no limit. */
  readonly pendingMs: number;
  /** An attempt exits on request; after this time the dispatcher cancels it in the engine. */
  readonly graceMs: number;
}
export const defaultTimeouts: DispatchTimeouts = {
  firstPollMs: 500,
  maxPollMs: 30_000,
  silenceMs: 15 * 60_000,
  stuckMs: 10 * 60_000,
  pendingMs: Infinity,
  graceMs: 20_000,
};
const slower = 1.5;

export interface Next {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export const initial = (now: number): State => ({ at: 'submitting', since: now, next: Infinity, will: 'run' });

/** When the state expects the event `due`. */
export function deadline(state: State): number {
  switch (state.at) {
    case 'submitting':
      return state.next;
    case 'waiting':
    case 'running':
      return state.polling.at;
    case 'ending':
      return Math.min(state.polling.at, state.cancelAt);
    default:
      return Infinity;
  }
}

/**
 * The dispatcher renews the lease as long as it knows the state of the attempt. After `silenceMs` without an answer of
 * the engine, only the attempt's own reports renew it; without them the lease expires.
 */
export function keepsLease(state: State, now: number, { silenceMs }: DispatchTimeouts): boolean {
  switch (state.at) {
    case 'running':
      return state.polling.silentSince === undefined || now - state.polling.silentSince < silenceMs;
    case 'closing':
    case 'ended':
    case 'left':
      return false;
    default:
      return true;
  }
}

/** What every transition reads besides the state and the event. */
interface Moment {
  readonly now: number;
  readonly timeouts: DispatchTimeouts;
}

export function step(state: State, event: Event, now: number, timeouts: DispatchTimeouts): Next {
  const moment = { now, timeouts };
  switch (state.at) {
    case 'ended':
    case 'left':
      return to(state);
    case 'closing':
      return event.is === 'reported' ? to({ at: 'ended' }) : to(state);
    case 'submitting':
      return whileSubmitting(state, event, moment);
    case 'waiting':
    case 'running':
      return whileActive(state, event, moment);
    case 'ending':
      return whileEnding(state, event, moment);
  }
}

const to = (next: State, ...effects: Effect[]): Next => ({ state: next, effects });
const close = (...effects: Effect[]): Next => to({ at: 'closing' }, ...effects);
const failed = (failure: EngineFailure | Failure, ...before: Effect[]): Next =>
  close(...before, { do: 'fail', failure });

function closeFor(will: Will): Next {
  switch (will) {
    case 'drop':
      return to({ at: 'ended' });
    case 'stop':
      return close({ do: 'confirmStop' });
    case 'handBack':
      return failed({ because: 'handedBack' });
  }
}

const poll = { do: 'poll' } as const;
const firstPoll = ({ now, timeouts: { firstPollMs } }: Moment): PollState => ({
  at: now + firstPollMs,
  paceMs: firstPollMs,
  silentSince: undefined,
});
/** No poll is due while one is in flight: its answer schedules the next one. */
const inFlight = (polling: PollState): PollState => ({ ...polling, at: Infinity });

function afterAnswer(polling: PollState, isNews: boolean, { now, timeouts }: Moment): PollState {
  const paceMs = isNews ? timeouts.firstPollMs : Math.min(polling.paceMs * slower, timeouts.maxPollMs);
  return { at: now + paceMs, paceMs, silentSince: undefined };
}
const afterSilence = (polling: PollState, moment: Moment): PollState => ({
  ...afterAnswer(polling, false, moment),
  silentSince: polling.silentSince ?? moment.now,
});
const isSilentTooLong = ({ silentSince }: PollState, { now, timeouts }: Moment): boolean =>
  now - (silentSince ?? now) >= timeouts.silenceMs;

const pollIfDue = (state: Extract<State, { polling: PollState }>, { now }: Moment): Next =>
  now < state.polling.at ? to(state) : to({ ...state, polling: inFlight(state.polling) }, poll);

const end = (will: Will, cancelAt: number, moment: Moment): Next =>
  cancelAt <= moment.now
    ? to({ at: 'ending', will, cancelAt: Infinity, polling: firstPoll(moment) }, { do: 'cancel' })
    : to({ at: 'ending', will, cancelAt, polling: firstPoll(moment) });

function whileSubmitting(state: Extract<State, { at: 'submitting' }>, event: Event, moment: Moment): Next {
  const { now, timeouts } = moment;
  switch (event.is) {
    case 'begin':
      return event.isKnown
        ? to({ at: 'waiting', since: now, why: '', polling: inFlight(firstPoll(moment)) }, poll)
        : to(state, { do: 'submit' });
    case 'due':
      return now < state.next ? to(state) : to({ ...state, next: Infinity }, { do: 'submit' });
    case 'submitted':
      return state.will === 'run'
        ? to({ at: 'waiting', since: now, why: '', polling: firstPoll(moment) })
        : end(state.will, now, moment);
    case 'refused':
      return state.will === 'run' ? failed(event.failure) : closeFor(state.will);
    case 'unreachable': {
      // If the submit succeeded after all, the attempt finds its lease lost and exits.
      if (state.will !== 'run') return closeFor(state.will);
      const spentMs = now - state.since;
      if (spentMs >= timeouts.silenceMs) return failed({ because: 'unreachable', problem: event.problem });
      return to({ ...state, next: now + Math.min(timeouts.firstPollMs * 2 + spentMs / 2, timeouts.maxPollMs) });
    }
    case 'stopOrdered':
      return state.will === 'run' ? willEnd(state, 'stop') : to(state);
    case 'leaseLost':
      return willEnd(state, 'drop');
    case 'shutdown':
      return state.will === 'run' ? willEnd(state, 'handBack') : to(state);
    default:
      return to(state);
  }
}

/** No request is in flight while the dispatcher waits for a retry: then the job can end at once. */
const willEnd = (state: Extract<State, { at: 'submitting' }>, will: Will): Next =>
  state.next === Infinity ? to({ ...state, will }) : closeFor(will);

function whileActive(state: Extract<State, { at: 'waiting' | 'running' }>, event: Event, moment: Moment): Next {
  const { now, timeouts } = moment;
  switch (event.is) {
    case 'due':
      return pollIfDue(state, moment);
    case 'seen':
      return seen(state, event.status, moment);
    case 'refused':
    case 'unreachable': {
      const problem = event.is === 'refused' ? event.failure.message : event.problem;
      const polling = afterSilence(state.polling, moment);
      return state.at === 'waiting' && isSilentTooLong(polling, moment)
        ? failed({ because: 'unreachable', problem })
        : to({ ...state, polling });
    }
    case 'stopOrdered':
      return end('stop', state.at === 'waiting' ? now : now + timeouts.graceMs, moment);
    case 'leaseLost':
      // Usually the attempt has reported its final status and is about to exit.
      return end('drop', now + (state.at === 'waiting' ? timeouts.firstPollMs * 4 : timeouts.graceMs), moment);
    case 'shutdown':
      return state.at === 'waiting' ? end('handBack', now, moment) : to({ at: 'left' });
    default:
      return to(state);
  }
}

function seen(from: Extract<State, { at: 'waiting' | 'running' }>, status: EngineStatus, moment: Moment): Next {
  switch (status.at) {
    case 'ended':
    case 'absent':
      return failed({ because: 'ended', status });
    case 'running':
      return to({ at: 'running', polling: afterAnswer(from.polling, from.at === 'waiting', moment) });
    case 'pending': {
      const { stuckMs, pendingMs } = moment.timeouts;
      const since = from.at === 'waiting' ? from.since : moment.now;
      const limitMs = status.isStuck ? Math.min(stuckMs, pendingMs) : pendingMs;
      if (moment.now - since >= limitMs) {
        const minutes = Math.round(limitMs / 60_000);
        return failed({ because: 'stuck', why: status.why, minutes }, { do: 'cancel' });
      }
      const isNews = from.at !== 'waiting' || status.why !== from.why;
      const notes: Effect[] = isNews && status.why !== '' ? [{ do: 'note', text: `waits: ${status.why}` }] : [];
      const polling = afterAnswer(from.polling, isNews, moment);
      return to({ at: 'waiting', since, why: status.why, polling }, ...notes);
    }
  }
}

function whileEnding(state: Extract<State, { at: 'ending' }>, event: Event, moment: Moment): Next {
  switch (event.is) {
    case 'due':
      if (moment.now >= state.cancelAt) return to({ ...state, cancelAt: Infinity }, { do: 'cancel' });
      return pollIfDue(state, moment);
    case 'seen':
      if (event.status.at === 'ended' || event.status.at === 'absent') return closeFor(state.will);
      return to({ ...state, polling: afterAnswer(state.polling, false, moment) });
    case 'refused':
    case 'unreachable': {
      const polling = afterSilence(state.polling, moment);
      if (isSilentTooLong(polling, moment)) return closeFor(state.will);
      // The lost request may have been the cancel.
      return to({ ...state, polling, cancelAt: state.cancelAt === Infinity ? polling.at : state.cancelAt });
    }
    case 'leaseLost':
      return to({ ...state, will: 'drop' });
    case 'stopOrdered':
      return state.will === 'handBack' ? to({ ...state, will: 'stop' }) : to(state);
    case 'shutdown':
      return to({ at: 'left' });
    default:
      return to(state);
  }
}
