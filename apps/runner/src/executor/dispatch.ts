/** Runs one attempt through an engine, from its lease to its end. */
import { PlatformError } from '@platform/contract/errors/errors';
import type { Job } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { parseJobSpec, type JobSpec } from '@platform/contract/job/job';
import { errorText, Inbox, run, type Clock, type Log } from '@platform/kit';
import type { Failure } from '../attempt-life.ts';
import type { AttemptId, Queue } from '../cloud/queue.ts';
import { failureOfError } from '../failures.ts';
import { reportFinalStatus, type AttemptResult } from '../final-report.ts';
import { Reporter } from '../reporter.ts';
import { attemptKey } from './attempt-order.ts';
import {
  deadline,
  initial,
  keepsLease,
  step,
  type Effect,
  type Event,
  type DispatchTimeouts,
  type State,
} from './dispatch-life.ts';
import { failureOfEngine } from './engine-failure.ts';
import type { Engine } from './engine.ts';
import type { HeldAttempt, HeldAttempts } from './held-attempts.ts';

export interface Dispatching {
  readonly engine: Engine;
  readonly queue: Queue;
  readonly held: HeldAttempts;
  readonly patience: DispatchTimeouts;
  /** Formats the order for the program on the cluster. */
  orderOf(job: Job): string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface DispatchedAttempt extends HeldAttempt {
  /** True if an earlier run of the dispatcher held it and may have submitted it. */
  readonly isTakenOver: boolean;
}

/** The dispatcher's log lines stay below 1000: the attempt numbers its own lines from 1000 on. */
const maxNotes = 900;
export const firstLineOfAttempt = 1000;
/** Limit of a shutdown's wait for the engine; the next dispatcher continues. */
const shutdownMs = 8_000;

/** Never throws: it reports every failure to the queue. */
export async function dispatch(to: Dispatching, known: DispatchedAttempt, shutdown: AbortSignal): Promise<void> {
  const { job } = known;
  const attempt: AttemptId = { jobId: job.id, attempt: job.attempt };
  const log = to.log.child('job', { ...attempt });
  try {
    const spec = parseJobSpec({ ...job.spec, id: job.id, attempt: job.attempt, org_id: job.organizationId });
    await new Dispatch({ ...to, log }, known, spec, attempt).run(shutdown);
  } catch (error) {
    log.error('the attempt broke off', { error: errorText(error) });
    await reportFinalStatus({ ...to, log }, attempt, { do: 'fail', failure: failureOfError(error) }, shutdown);
    await to.held.forget(job);
  }
}

class Dispatch {
  readonly #to: Dispatching;
  readonly #job: Job;
  readonly #spec: JobSpec;
  readonly #attempt: AttemptId;
  readonly #reporter: Reporter;
  readonly #inbox = new Inbox<Event>();
  readonly #isTakenOver: boolean;
  #ref: string | undefined;
  #submits = 0;
  #notes = 0;
  #reports: { stop: AbortController; ended: Promise<void> } | undefined;

  constructor(to: Dispatching, { job, ref, isTakenOver }: DispatchedAttempt, spec: JobSpec, attempt: AttemptId) {
    this.#to = to;
    this.#job = job;
    this.#spec = spec;
    this.#attempt = attempt;
    this.#ref = ref;
    this.#isTakenOver = isTakenOver;
    this.#reporter = new Reporter(to.queue, attempt, to);
    this.#reporter.stand({ phase: 'queued', progress: 0, etaMs: undefined });
  }

  async run(shutdown: AbortSignal): Promise<void> {
    const { clock, log, patience, held } = this.#to;
    const ended = new AbortController();
    const onShutdown = (): void => {
      this.#inbox.push({ is: 'shutdown' });
      void clock.sleep(shutdownMs, ended.signal).then(() => ended.abort());
    };
    shutdown.addEventListener('abort', onShutdown, { once: true });
    if (shutdown.aborted) onShutdown();
    let last: State = initial(clock.now());
    const first = last;
    this.#report(true);
    this.#inbox.push({ is: 'begin', isKnown: this.#ref !== undefined });
    try {
      await run<State, Event, Effect>(
        {
          initial: first,
          deadline,
          step: (state, event, now) => step(state, event, now, patience),
          perform: (effect, signal) => this.#perform(effect, signal, shutdown),
        },
        this.#inbox,
        (state) => {
          last = state;
          this.#report(keepsLease(state, clock.now(), patience));
          if (state.at === 'ended' || state.at === 'left') ended.abort();
        },
        { clock, log },
        ended.signal,
      );
    } finally {
      shutdown.removeEventListener('abort', onShutdown);
      ended.abort();
      this.#report(false);
      await this.#reports?.ended;
    }
    if (last.at === 'ended') await held.forget(this.#job);
  }

  #report(isOn: boolean): void {
    if (!isOn) this.#reports?.stop.abort();
    if (!isOn || (this.#reports && !this.#reports.stop.signal.aborted)) return;
    const stop = new AbortController();
    const before = this.#reports?.ended;
    const ended = (async (): Promise<void> => {
      await before;
      await this.#reporter.run(this.#inbox.push, stop.signal);
    })();
    this.#reports = { stop, ended };
  }
  #note(text: string): void {
    const name = this.#to.engine.name;
    this.#to.log.info('the engine says', { engine: name, ref: this.#ref, text });
    if (++this.#notes <= maxNotes) this.#reporter.line('info', `${name} job ${this.#ref ?? ''} ${text}.`);
  }

  async #perform(effect: Effect, signal: AbortSignal, shutdown: AbortSignal): Promise<Event | void> {
    switch (effect.do) {
      case 'submit':
        return this.#ask((inner) => this.#submit(inner), signal);
      case 'poll':
        return this.#ask(
          async (inner) => ({ is: 'seen', status: await this.#to.engine.status(this.#ref ?? '', inner) }),
          signal,
        );
      case 'cancel':
        return this.#ask(async (inner) => {
          await this.#to.engine.cancel(this.#ref ?? '', inner);
        }, signal);
      case 'note':
        return this.#note(effect.text);
      case 'fail': {
        const failure = 'because' in effect.failure ? await this.#explain(effect.failure, signal) : effect.failure;
        return this.#close({ do: 'fail', failure }, shutdown);
      }
      case 'confirmStop':
        return this.#close({ do: 'confirmStop' }, shutdown);
    }
  }
  async #submit(signal: AbortSignal): Promise<Event> {
    const { engine, held, orderOf, log } = this.#to;
    const job = this.#job;
    // Write to disk first: a dispatcher that dies from here on searches the engine for the job before it submits again.
    await held.keep({ job, ref: undefined });
    const { model_name: model, model_version: version, limits } = this.#spec;
    this.#ref = await engine.submit(
      {
        key: attemptKey(job),
        mayExist: this.#submits++ > 0 || this.#isTakenOver,
        about: `Training of ${model} ${version}, job ${job.id}, attempt ${job.attempt}`,
        order: orderOf(job),
        limits,
      },
      signal,
    );
    await held.keep({ job, ref: this.#ref });
    log.info('submitted', { engine: engine.name, ref: this.#ref });
    this.#note('is submitted');
    return { is: 'submitted' };
  }
  async #ask(f: (signal: AbortSignal) => Promise<Event | void>, signal: AbortSignal): Promise<Event | void> {
    try {
      return await f(signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      const isAway = error instanceof PlatformError && error.code === 'ENGINE_UNREACHABLE';
      this.#to.log.warn('the engine could not be asked', { error: errorText(error) });
      return isAway
        ? { is: 'unreachable', problem: String(error.data['problem'] ?? '') }
        : { is: 'refused', failure: failureOfError(error) };
    }
  }
  async #explain(
    failure: Exclude<Extract<Effect, { do: 'fail' }>['failure'], Failure>,
    signal: AbortSignal,
  ): Promise<Failure> {
    const { engine } = this.#to;
    const ref = this.#ref ?? '';
    const lastLines = failure.because === 'ended' ? await engine.lastLines(ref, signal).catch(() => []) : [];
    const { limits, kind } = this.#spec;
    return failureOfEngine(failure, { engine: engine.name, ref, limits, isBuiltIn: kind !== 'custom', lastLines });
  }
  async #close(ending: AttemptResult, shutdown: AbortSignal): Promise<Event> {
    const { queue, clock, log } = this.#to;
    this.#report(false);
    await this.#reports?.ended;
    if (ending.do === 'fail') await this.#reporter.flush(shutdown);
    await reportFinalStatus({ queue, clock, log }, this.#attempt, ending, shutdown);
    return { is: 'reported' };
  }
}
