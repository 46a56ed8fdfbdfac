/** A cluster scheduler such as Slurm: it starts one program on a node, or cancels it. */
import type { JobLimits } from '@platform/contract/job/job';

/** A job for the engine. */
export interface EngineJob {
  /** Idempotency key of the attempt: two submits with one key are one job of the engine. Letters, digits and `-`. */
  readonly key: string;
  /** An earlier submit may have succeeded: search the engine first. */
  readonly mayExist: boolean;
  /** Description for users who list the engine's queue. */
  readonly about: string;
  /** The attempt order, one line of JSON, for the program's standard input or file. */
  readonly order: string;
  readonly limits: JobLimits;
}

export type EngineStatus =
  /** In the engine's queue. `isStuck`: it cannot start until an operator fixes something. */
  | { readonly at: 'pending'; readonly why: string; readonly isStuck: boolean }
  | { readonly at: 'running' }
  | { readonly at: 'ended'; readonly how: EngineEnd }
  /** The engine has no such job, or no longer. */
  | { readonly at: 'absent' };

export type EngineEnd =
  | { readonly is: 'succeeded' }
  /** The program exited with this code. */
  | { readonly is: 'exited'; readonly code: number }
  | { readonly is: 'killed'; readonly signal: number }
  /** By the dispatcher or by an operator of the cluster. */
  | { readonly is: 'canceled' }
  | { readonly is: 'timedOut' }
  | { readonly is: 'outOfMemory' }
  /** Node lost, preempted, requeued …; `word` is the engine's term. */
  | { readonly is: 'lost'; readonly word: string };

/**
 * Each call throws PlatformError ENGINE_REFUSED when the engine rejects it permanently, and ENGINE_UNREACHABLE when a
 * retry may succeed.
 */
export interface Engine {
  readonly name: 'Slurm' | 'Kubernetes';
  /** @returns the engine's ID of the job. Safe to call again with `mayExist`. */
  submit(job: EngineJob, signal: AbortSignal): Promise<string>;
  status(ref: string, signal: AbortSignal): Promise<EngineStatus>;
  /** Sends TERM, and KILL later; the status shows when the job has ended. Succeeds for an ended or unknown job. */
  cancel(ref: string, signal: AbortSignal): Promise<void>;
  /** Last lines of the program's output if the engine provides them; for the message of a failure. */
  lastLines(ref: string, signal: AbortSignal): Promise<readonly string[]>;
}
