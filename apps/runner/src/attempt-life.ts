/**
 * The life of one attempt on a job, as data: what it is, what happens to it, what is to be done. Instants are ms of the
 * monotonic clock. What is done answers with an event, always.
 */
import type { ErrorCode } from '@platform/contract/errors';
import { trainerExit } from '@platform/contract/job';

/** Only infrastructure is tried again. */
export interface Failure {
  readonly cause: 'script' | 'data' | 'infrastructure';
  readonly code: ErrorCode;
  readonly message: string;
}
/** Why an attempt is ended before its time. */
export type Why =
  | { readonly because: 'canceled' }
  /** The attempt belongs to nobody or to another runner: nothing more is said about it. */
  | { readonly because: 'lost' }
  | { readonly because: 'failed'; readonly failure: Failure };

export type State =
  | { readonly at: 'leased' }
  | { readonly at: 'preparing' }
  | { readonly at: 'training'; readonly until: number }
  | { readonly at: 'uploading' }
  /** Whatever is under way is being ended. */
  | { readonly at: 'stopping'; readonly why: Why }
  /** The queue is being told how it ended. */
  | { readonly at: 'closing'; readonly saying: 'completed' | 'failed' | 'canceled' }
  | { readonly at: 'ended' };

export type Event =
  | { readonly is: 'begin' }
  | { readonly is: 'prepared' }
  | {
      readonly is: 'exited';
      readonly code: number | null;
      readonly signal: string | null;
      readonly told?: TrainerError;
    }
  | { readonly is: 'uploaded' }
  /** Preparing, starting or uploading failed, or a limit was passed. */
  | { readonly is: 'failed'; readonly failure: Failure }
  | { readonly is: 'stopOrdered' }
  | { readonly is: 'leaseLost' }
  | { readonly is: 'shutdown' }
  /** The answer to `abandon`: nothing of the attempt runs any more. */
  | { readonly is: 'gone' }
  /** The queue knows how it ended, or will find out by itself. */
  | { readonly is: 'told' }
  /** The queue does not take the result: the attempt was canceled or lost in its last moment. */
  | { readonly is: 'refused' }
  | { readonly is: 'due' };

export type Effect =
  | { readonly do: 'prepare' }
  | { readonly do: 'train' }
  | { readonly do: 'upload' }
  | { readonly do: 'abandon' }
  | { readonly do: 'complete' }
  | { readonly do: 'fail'; readonly failure: Failure }
  | { readonly do: 'confirmStop' };

/** What the trainer said last about its end. */
export interface TrainerError {
  readonly code: ErrorCode;
  readonly message: string;
}
export interface Next {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export const initial: State = { at: 'leased' };

/** When the state wants the event `due`. */
export const deadline = (state: State): number => (state.at === 'training' ? state.until : Infinity);

const shutdown: Failure = {
  cause: 'infrastructure',
  code: 'RUNNER_STOPPED',
  message: 'The runner was shut down while it ran the job.',
};

/** Of an exit nobody ordered; undefined when the trainer did its work. */
function failureOf(event: Extract<Event, { is: 'exited' }>, isBuiltIn: boolean): Failure | undefined {
  const { code, signal, told } = event;
  if (code === trainerExit.ok) return undefined;
  const message =
    told?.message ?? (signal === null ? `The trainer ended with code ${code}.` : `The trainer was ended by ${signal}.`);
  if (code === trainerExit.badData) return { cause: 'data', code: told?.code ?? 'TRAINER_FAILED', message };
  // A built-in trainer that crashes is our fault or the computer's, a script of a user that of its author.
  const cause = isBuiltIn || signal !== null ? 'infrastructure' : 'script';
  return { cause, code: told?.code ?? 'TRAINER_FAILED', message };
}

export interface Limits {
  /** Wall time of the training. */
  wallMs: number;
  isBuiltIn: boolean;
}

export function step(state: State, event: Event, now: number, limits: Limits): Next {
  const to = (next: State, ...effects: Effect[]): Next => ({ state: next, effects });
  const stop = (why: Why): Next => to({ at: 'stopping', why }, { do: 'abandon' });
  const fail = (failure: Failure): Next => to({ at: 'closing', saying: 'failed' }, { do: 'fail', failure });

  switch (state.at) {
    case 'ended':
      return to(state);
    case 'closing':
      if (event.is === 'told') return to({ at: 'ended' });
      if (event.is === 'failed') return fail(event.failure);
      if (event.is !== 'refused') return to(state);
      // Should it have been canceled, the queue waits for this word.
      return to({ at: 'closing', saying: 'canceled' }, { do: 'confirmStop' });
    case 'stopping':
      if (event.is === 'leaseLost') return to({ at: 'stopping', why: { because: 'lost' } });
      if (event.is === 'stopOrdered' && state.why.because === 'failed') {
        return to({ at: 'stopping', why: { because: 'canceled' } });
      }
      if (event.is !== 'gone') return to(state);
      if (state.why.because === 'lost') return to({ at: 'ended' });
      if (state.why.because === 'canceled') return to({ at: 'closing', saying: 'canceled' }, { do: 'confirmStop' });
      return fail(state.why.failure);
    default:
  }

  switch (event.is) {
    case 'begin':
      return state.at === 'leased' ? to({ at: 'preparing' }, { do: 'prepare' }) : to(state);
    case 'stopOrdered':
      return stop({ because: 'canceled' });
    case 'leaseLost':
      return stop({ because: 'lost' });
    case 'shutdown':
      return stop({ because: 'failed', failure: shutdown });
    case 'failed':
      return stop({ because: 'failed', failure: event.failure });
    case 'prepared':
      return state.at === 'preparing' ? to({ at: 'training', until: now + limits.wallMs }, { do: 'train' }) : to(state);
    case 'exited': {
      if (state.at !== 'training') return to(state);
      const failure = failureOf(event, limits.isBuiltIn);
      return failure ? stop({ because: 'failed', failure }) : to({ at: 'uploading' }, { do: 'upload' });
    }
    case 'uploaded':
      if (state.at !== 'uploading') return to(state);
      return to({ at: 'closing', saying: 'completed' }, { do: 'complete' });
    case 'due': {
      if (now < deadline(state)) return to(state);
      const message = `The training took longer than its limit of ${limits.wallMs / 1000} s.`;
      return stop({ because: 'failed', failure: { cause: 'script', code: 'TRAINING_TIMED_OUT', message } });
    }
    case 'gone':
    case 'told':
    case 'refused':
      return to(state);
  }
}
