/** An engine with a queue of its own, such as Slurm: it starts one program on some computer of a cluster, or ends it. */
import type { JobLimits } from '@platform/contract/job';

/** What the engine is to run. */
export interface EngineJob {
  /** Names the attempt for ever: two submits with one key are one job of the engine. Letters, digits and `-`. */
  readonly key: string;
  /** An earlier submit may have got through: the engine is searched first. */
  readonly mayExist: boolean;
  /** For people who look at the engine's queue. */
  readonly about: string;
  /** The attempt order, one line of JSON, for the program's standard input or file. */
  readonly order: string;
  readonly limits: JobLimits;
}

export type EngineStatus =
  /** In the engine's queue. `isStuck`: it will not start unless a person mends something. */
  | { readonly at: 'pending'; readonly why: string; readonly isStuck: boolean }
  | { readonly at: 'running' }
  | { readonly at: 'ended'; readonly how: EngineEnd }
  /** The engine does not know it, or no longer. */
  | { readonly at: 'absent' };

export type EngineEnd =
  | { readonly is: 'succeeded' }
  /** The program ended with this code. */
  | { readonly is: 'exited'; readonly code: number }
  | { readonly is: 'killed'; readonly signal: number }
  /** By us or by an operator of the cluster. */
  | { readonly is: 'canceled' }
  | { readonly is: 'timedOut' }
  | { readonly is: 'outOfMemory' }
  /** Node gone, preempted, put back into the engine's queue …: the engine's word. */
  | { readonly is: 'lost'; readonly word: string };

/**
 * Each call throws PlatformError ENGINE_REFUSED when the engine says no for good, and ENGINE_UNREACHABLE when it could not
 * be asked just then.
 */
export interface Engine {
  readonly name: 'Slurm' | 'Kubernetes';
  /** @returns how the engine calls the job. Safe to call again with `mayExist`. */
  submit(job: EngineJob, signal: AbortSignal): Promise<string>;
  status(ref: string, signal: AbortSignal): Promise<EngineStatus>;
  /** TERM, and KILL later; the status tells when it is over. A job that has ended or is unknown is no error. */
  cancel(ref: string, signal: AbortSignal): Promise<void>;
  /** The end of what the program printed, where the engine lets us see that; for the message of a failure. */
  lastLines(ref: string, signal: AbortSignal): Promise<readonly string[]>;
}
