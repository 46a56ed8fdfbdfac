/**
 * State machine of the dispatcher for one attempt that an engine runs. The attempt reports its progress, uploads and
 * reports its final status. The dispatcher submits it, renews its lease and forwards a cancel. If the attempt dies
 * without a final status, the dispatcher reports the engine's status. Instants are ms of the monotonic clock. Every
 * effect answers with one event.
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
  | { readonly at: 'waiting'; readonly since: number; readonly why: string; readonly look: PollState }
  | { readonly at: 'running'; readonly look: PollState }
  /** The job must end. `cancelAt`: when the dispatcher cancels it in the engine; before that the attempt may exit. */
  | { readonly at: 'ending'; readonly will: Will; readonly cancelAt: number; readonly look: PollState }
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
  | { readonly is: 'told' }
  | { readonly is: 'due' };

export type Effect =
  | { readonly do: 'submit' }
  | { readonly do: 'look' }
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
      return state.look.at;
    case 'ending':
      return Math.min(state.look.at, state.cancelAt);
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
      return state.look.silentSince === undefined || now - state.look.silentSince < silenceMs;
    case 'closing':
    case 'ended':
    case 'left':
      return false;
    default:
      return true;
  }
}

export function step(state: State, event: Event, now: number, patience: DispatchTimeouts): Next {
  const { firstPollMs: firstLookMs, maxPollMs: longestLookMs, silenceMs } = patience;
  const to = (next: State, ...effects: Effect[]): Next => ({ state: next, effects });
  const soon: PollState = { at: now + firstLookMs, paceMs: firstLookMs, silentSince: undefined };
  const looking = { do: 'look' } as const;
  const close = (...effects: Effect[]): Next => to({ at: 'closing' }, ...effects);
  const failed = (failure: EngineFailure | Failure, ...before: Effect[]): Next =>
    close(...before, { do: 'fail', failure });
  const end = (will: Will, cancelAt: number): Next =>
    cancelAt <= now
      ? to({ at: 'ending', will, cancelAt: Infinity, look: soon }, { do: 'cancel' })
      : to({ at: 'ending', will, cancelAt, look: soon });
  const closeFor = (will: Will): Next =>
    will === 'drop'
      ? to({ at: 'ended' })
      : will === 'stop'
        ? close({ do: 'confirmStop' })
        : failed({ because: 'handedBack' });
  /** No poll is due while one is in flight: its answer schedules the next one. */
  const later = (look: PollState): PollState => ({ ...look, at: Infinity });
  const after = (look: PollState, isNews: boolean): PollState => {
    const paceMs = isNews ? firstLookMs : Math.min(look.paceMs * slower, longestLookMs);
    return { at: now + paceMs, paceMs, silentSince: undefined };
  };
  const afterSilence = (look: PollState): PollState => ({
    ...after(look, false),
    silentSince: look.silentSince ?? now,
  });

  switch (state.at) {
    case 'ended':
    case 'left':
      return to(state);
    case 'closing':
      return event.is === 'told' ? to({ at: 'ended' }) : to(state);

    case 'submitting':
      switch (event.is) {
        case 'begin':
          return event.isKnown
            ? to({ at: 'waiting', since: now, why: '', look: later(soon) }, looking)
            : to(state, { do: 'submit' });
        case 'due':
          return now < state.next ? to(state) : to({ ...state, next: Infinity }, { do: 'submit' });
        case 'submitted':
          return state.will === 'run' ? to({ at: 'waiting', since: now, why: '', look: soon }) : end(state.will, now);
        case 'refused':
          return state.will === 'run' ? failed(event.failure) : closeFor(state.will);
        case 'unreachable':
          // If the submit succeeded after all, the attempt finds its lease lost and exits.
          if (state.will !== 'run') return closeFor(state.will);
          if (now - state.since >= silenceMs) return failed({ because: 'unreachable', problem: event.problem });
          return to({ ...state, next: now + Math.min(firstLookMs * 2 + (now - state.since) / 2, longestLookMs) });
        case 'stopOrdered':
          return state.will === 'run' ? willEnd(state, 'stop') : to(state);
        case 'leaseLost':
          return willEnd(state, 'drop');
        case 'shutdown':
          return state.will === 'run' ? willEnd(state, 'handBack') : to(state);
        default:
          return to(state);
      }

    case 'waiting':
    case 'running':
      switch (event.is) {
        case 'due':
          return now < state.look.at ? to(state) : to({ ...state, look: later(state.look) }, looking);
        case 'seen':
          return seen(state, event.status);
        case 'refused':
        case 'unreachable': {
          const problem = event.is === 'refused' ? event.failure.message : event.problem;
          const look = afterSilence(state.look);
          const isOver = now - (look.silentSince ?? now) >= silenceMs;
          return state.at === 'waiting' && isOver
            ? failed({ because: 'unreachable', problem })
            : to({ ...state, look });
        }
        case 'stopOrdered':
          return end('stop', state.at === 'waiting' ? now : now + patience.graceMs);
        case 'leaseLost':
          // Usually the attempt has reported its final status and is about to exit.
          return end('drop', now + (state.at === 'waiting' ? firstLookMs * 4 : patience.graceMs));
        case 'shutdown':
          return state.at === 'waiting' ? end('handBack', now) : to({ at: 'left' });
        default:
          return to(state);
      }

    case 'ending':
      switch (event.is) {
        case 'due':
          if (now >= state.cancelAt) return to({ ...state, cancelAt: Infinity }, { do: 'cancel' });
          return now < state.look.at ? to(state) : to({ ...state, look: later(state.look) }, looking);
        case 'seen':
          if (event.status.at === 'ended' || event.status.at === 'absent') return closeFor(state.will);
          return to({ ...state, look: after(state.look, false) });
        case 'refused':
        case 'unreachable': {
          const look = afterSilence(state.look);
          if (now - (look.silentSince ?? now) >= silenceMs) return closeFor(state.will);
          // The lost request may have been the cancel.
          return to({ ...state, look, cancelAt: state.cancelAt === Infinity ? look.at : state.cancelAt });
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

  function willEnd(from: Extract<State, { at: 'submitting' }>, will: Will): Next {
    // No request is in flight while the dispatcher waits for a retry.
    return from.next === Infinity ? to({ ...from, will }) : closeFor(will);
  }
  function seen(from: Extract<State, { at: 'waiting' | 'running' }>, status: EngineStatus): Next {
    switch (status.at) {
      case 'ended':
      case 'absent':
        return failed({ because: 'ended', status });
      case 'running':
        return to({ at: 'running', look: after(from.look, from.at === 'waiting') });
      case 'pending': {
        const since = from.at === 'waiting' ? from.since : now;
        const limitMs = status.isStuck ? Math.min(patience.stuckMs, patience.pendingMs) : patience.pendingMs;
        if (now - since >= limitMs) {
          const minutes = Math.round(limitMs / 60_000);
          return failed({ because: 'stuck', why: status.why, minutes }, { do: 'cancel' });
        }
        const isNews = from.at !== 'waiting' || status.why !== from.why;
        const notes: Effect[] = isNews && status.why !== '' ? [{ do: 'note', text: `waits: ${status.why}` }] : [];
        return to({ at: 'waiting', since, why: status.why, look: after(from.look, isNews) }, ...notes);
      }
    }
  }
}
