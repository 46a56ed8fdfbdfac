/**
 * State machine of one attempt on a job. Instants are ms of the monotonic clock. Every effect answers with one event.
 */
import type { ErrorCode } from '@platform/contract/errors/errors';
import { trainerExit } from '@platform/contract/job/job';

/** The queue retries only a failure whose cause is `infrastructure`. */
export interface Failure {
  readonly cause: 'script' | 'data' | 'infrastructure';
  readonly code: ErrorCode;
  readonly message: string;
}
/** Why an attempt ends early. */
export type Why =
  | { readonly because: 'canceled' }
  /** The lease belongs to another runner or to none: the runner sends no further reports about the attempt. */
  | { readonly because: 'lost' }
  | { readonly because: 'failed'; readonly failure: Failure };

export type State =
  | { readonly at: 'leased' }
  | { readonly at: 'preparing' }
  | { readonly at: 'training'; readonly until: number }
  | { readonly at: 'uploading' }
  /** The runner is ending the current work. */
  | { readonly at: 'stopping'; readonly why: Why }
  /** The runner is reporting the final status to the queue. */
  | { readonly at: 'closing'; readonly outcome: 'completed' | 'failed' | 'canceled' }
  | { readonly at: 'ended' };

export type Event =
  | { readonly is: 'begin' }
  | { readonly is: 'prepared' }
  | {
      readonly is: 'exited';
      readonly code: number | null;
      readonly signal: string | null;
      readonly lastError?: TrainerError;
    }
  | { readonly is: 'uploaded' }
  /** Preparing, starting or uploading failed, or the attempt exceeded a limit. */
  | { readonly is: 'failed'; readonly failure: Failure }
  | { readonly is: 'stopOrdered' }
  | { readonly is: 'leaseLost' }
  | { readonly is: 'shutdown' }
  /** The answer to `abandon`: no process of the attempt runs any more. */
  | { readonly is: 'gone' }
  /** The queue has the final status, or detects the end when the lease expires. */
  | { readonly is: 'reported' }
  /** The queue rejects the result because the attempt was canceled or lost its lease during the upload. */
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

/** The last error that the trainer reported before it exited. */
export interface TrainerError {
  readonly code: ErrorCode;
  readonly message: string;
}
export interface Next {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export const initial: State = { at: 'leased' };

/** When the state expects the event `due`. */
export const deadline = (state: State): number => (state.at === 'training' ? state.until : Infinity);

const shutdown: Failure = {
  cause: 'infrastructure',
  code: 'RUNNER_STOPPED',
  message: 'The runner was shut down while it ran the job.',
};

/** Classifies an exit that the runner did not request; undefined for exit code 0. */
function failureOf(event: Extract<Event, { is: 'exited' }>, isBuiltIn: boolean): Failure | undefined {
  const { code, signal, lastError } = event;
  if (code === trainerExit.ok) return undefined;
  const message =
    lastError?.message ??
    (signal === null ? `The trainer ended with code ${code}.` : `The trainer was ended by ${signal}.`);
  if (code === trainerExit.badData) return { cause: 'data', code: lastError?.code ?? 'TRAINER_FAILED', message };
  // A crash of a built-in trainer is a defect of the platform or of the host; a crash of a script is its author's.
  const cause = isBuiltIn || signal !== null ? 'infrastructure' : 'script';
  return { cause, code: lastError?.code ?? 'TRAINER_FAILED', message };
}

export interface Limits {
  /** Wall-clock limit of the training. */
  wallMs: number;
  isBuiltIn: boolean;
}

export function step(state: State, event: Event, now: number, limits: Limits): Next {
  const to = (next: State, ...effects: Effect[]): Next => ({ state: next, effects });
  const stop = (why: Why): Next => to({ at: 'stopping', why }, { do: 'abandon' });
  const fail = (failure: Failure): Next => to({ at: 'closing', outcome: 'failed' }, { do: 'fail', failure });

  switch (state.at) {
    case 'ended':
      return to(state);
    case 'closing':
      if (event.is === 'reported') return to({ at: 'ended' });
      if (event.is === 'failed') return fail(event.failure);
      if (event.is !== 'refused') return to(state);
      // If the job was canceled, the queue waits for this confirmation.
      return to({ at: 'closing', outcome: 'canceled' }, { do: 'confirmStop' });
    case 'stopping':
      if (event.is === 'leaseLost') return to({ at: 'stopping', why: { because: 'lost' } });
      if (event.is === 'stopOrdered' && state.why.because === 'failed') {
        return to({ at: 'stopping', why: { because: 'canceled' } });
      }
      if (event.is !== 'gone') return to(state);
      if (state.why.because === 'lost') return to({ at: 'ended' });
      if (state.why.because === 'canceled') return to({ at: 'closing', outcome: 'canceled' }, { do: 'confirmStop' });
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
      return to({ at: 'closing', outcome: 'completed' }, { do: 'complete' });
    case 'due': {
      if (now < deadline(state)) return to(state);
      const message = `The training took longer than its limit of ${limits.wallMs / 1000} s.`;
      return stop({ because: 'failed', failure: { cause: 'script', code: 'TRAINING_TIMED_OUT', message } });
    }
    case 'gone':
    case 'reported':
    case 'refused':
      return to(state);
  }
}
