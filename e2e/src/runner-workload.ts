// Runners that make random calls, and record the answers.
import type { Client } from '@connectrpc/connect';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { outcome } from './call-outcome.ts';
import type { RunnerCall } from './job-calls.ts';
import type { Facts } from './job-invariants.ts';
import type { JobLab } from './job-lab.ts';

const kinds = ['single_label_classification'];

interface Attempt {
  jobId: string;
  attempt: number;
}
export interface RunnerState {
  readonly id: string;
  current: Attempt | undefined;
  /** Attempts that have ended, as the server answered. */
  past: Attempt[];
  /** Lines that were sent without an answer, for resending. */
  unsent: { sequence: bigint; message: string }[];
  sequence: number;
}

export const newRunner = (id: string): RunnerState => ({ id, current: undefined, past: [], unsent: [], sequence: 0 });

export class RunnerWorkload {
  readonly #lab: JobLab;
  readonly #facts: Facts;
  #late = 0;

  constructor(lab: JobLab, facts: Facts) {
    this.#lab = lab;
    this.#facts = facts;
  }

  async perform(one: RunnerCall, state: RunnerState): Promise<void> {
    switch (one.is) {
      case 'lease':
        return this.lease(state);
      case 'vanish':
        state.current = undefined;
        return;
      case 'report':
        return this.#report(state);
      case 'complete':
        return this.complete(state);
      case 'confirm':
      case 'fail': {
        const { current } = state;
        if (!current) return;
        const attempt = { ...current, runnerId: state.id };
        const failure = one.is === 'fail' ? { cause: one.cause, code: 'DISK_FULL', message: 'as planned' } : undefined;
        const end = await outcome(async () => {
          const from = await this.#runner();
          if (failure) await from.failJob({ ...attempt, ...failure });
          else await from.confirmStop(attempt);
        });
        if (end.ok || end.code === 'LEASE_LOST') over(state, current);
        return;
      }
      case 'late-report':
      case 'late-complete':
        return this.#wakeUp(one.is, state);
      default:
    }
  }
  #runner(): Promise<Client<typeof RunnerService>> {
    return this.#lab.client(RunnerService, 'runner');
  }
  async lease(state: RunnerState): Promise<void> {
    const before = state.current;
    state.current = undefined;
    const done = await outcome(async () => (await this.#runner()).leaseJob({ runnerId: state.id, kinds }));
    if (!done.ok) return;
    if (before) state.past.push(before);
    const { job: got } = done.answer;
    if (!got) return;
    // The server leases an attempt again if no report about it arrived.
    state.past = state.past.filter((past) => past.jobId !== got.id || past.attempt !== got.attempt);
    state.current = { jobId: got.id, attempt: got.attempt };
    state.unsent = [];
    state.sequence = 0;
  }
  async #report(state: RunnerState): Promise<void> {
    const { current, id: runnerId } = state;
    if (!current) return;
    const line = (): { sequence: bigint; message: string } => {
      state.sequence++;
      return { sequence: BigInt(state.sequence), message: `${current.attempt} ${state.sequence}` };
    };
    state.unsent.push(line(), line());
    const logs = [...state.unsent];
    const done = await outcome(async () =>
      (await this.#runner()).reportJob({ ...current, runnerId, progress: 0.5, logs }),
    );
    if (done.ok) {
      const fact = this.#facts.jobs.get(current.jobId);
      for (const { message } of logs) fact?.lines.add(message);
      state.unsent = state.unsent.filter((one) => !logs.includes(one));
    } else if (done.code === 'LEASE_LOST') over(state, current);
  }
  async complete(state: RunnerState): Promise<void> {
    const { current, id: runnerId } = state;
    if (!current) return;
    const { jobId, attempt } = current;
    const done = await outcome(async () => {
      const file = await this.#lab.putBlob(Buffer.from(`model of ${jobId} ${attempt}`));
      const files = [{ path: 'm.onnx', ...file }];
      return (await this.#runner()).completeJob({
        ...current,
        runnerId,
        files,
        evaluation: { accuracy: 0.5, attempt },
      });
    });
    if (done.ok) {
      const fact = this.#facts.jobs.get(jobId);
      if (fact) fact.completedBy = attempt;
    }
    if (done.ok || done.code === 'LEASE_LOST') over(state, current);
  }
  /** An attempt that has ended for the server resumes and continues to call. */
  async #wakeUp(is: 'late-report' | 'late-complete', state: RunnerState): Promise<void> {
    const old = state.past[this.#late++ % Math.max(1, state.past.length)];
    if (!old) return;
    const runnerId = state.id;
    await outcome(async () => {
      const from = await this.#runner();
      if (is === 'late-report') {
        const logs = [{ sequence: BigInt(900 + this.#late), message: `late ${this.#late}` }];
        return from.reportJob({ ...old, runnerId, progress: 1, logs });
      }
      const file = await this.#lab.putBlob(Buffer.from(`late ${this.#late}`));
      return from.completeJob({ ...old, runnerId, files: [{ path: 'late', ...file }], evaluation: { late: true } });
    });
  }
}

function over(state: RunnerState, attempt: Attempt): void {
  state.past.push(attempt);
  if (state.current === attempt) state.current = undefined;
}
