// Clients that make random calls beside runners, record the answers, and check the server against them.
import type { Client } from '@connectrpc/connect';
import { MLTrainingService, TrainingStatus } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { systemClock } from '@platform/kit/node';
import type { Burst, Call } from './job-calls.ts';
import { broken, brokenLog, type Facts, type JobFacts, newFacts } from './job-invariants.ts';
import type { JobLab } from './job-lab.ts';
import { outcome, type Outcome } from './call-outcome.ts';
import { newRunner, RunnerWorkload, type RunnerState } from './runner-workload.ts';

const protocols = ['connect', 'connect-json', 'grpc-web'] as const;
const leaseMs = 15_000;
const runners = ['r1', 'r2'] as const;

export class JobWorkload {
  readonly #lab: JobLab;
  readonly #datasetId: string;
  readonly #facts: Facts;
  readonly #runner: RunnerWorkload;
  readonly #states: RunnerState[];

  constructor(lab: JobLab, datasetId: string, modelName: string) {
    this.#lab = lab;
    this.#datasetId = datasetId;
    this.#facts = newFacts(modelName);
    this.#runner = new RunnerWorkload(lab, this.#facts);
    this.#states = runners.map(newRunner);
  }

  async perform({ calls, crash: how }: Burst): Promise<void> {
    const lab = this.#lab;
    const done = Promise.allSettled(calls.map((one) => this.#call(one)));
    if (how.is === 'server' || how.is === 'database') {
      await systemClock.sleep(how.afterMs);
      if (how.is === 'server') await lab.kill();
      else lab.killDatabase();
    }
    if (how.is === 'jump') await lab.jumpWall(how.hours * 3_600_000);
    const results = await done;
    if (how.is === 'server') await lab.start();
    await lab.untilReady();
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    if (how.is === 'silence') await this.#silence();
  }
  /** Names of the invariants that do not hold. */
  broken(): Promise<string[]> {
    return broken(this.#lab, this.#facts);
  }

  /** Runs the remaining jobs to their end: none may be stuck, and no version may be free. */
  async finish(): Promise<void> {
    await this.#silence();
    const closer = newRunner('closer');
    await this.#lab.until('every job has ended', async () => {
      await this.#runner.lease(closer);
      if (closer.current) await this.#runner.complete(closer);
      // Only time wakes a job in backoff.
      else await this.#lab.advance(1000);
      return (await this.#live()) === 0;
    });
    for (const [index, fact] of [...this.#facts.jobs.values()].entries()) {
      if (fact.deletions === 0) await this.#logs(fact, 0);
      if (index % 2 === 0) await this.#ofJob('delete', fact, 1);
      await this.#ofJob('get', fact, 2);
      const again = await this.#submit(fact.version, 0);
      if (again.ok || again.code !== 'MODEL_VERSION_TAKEN') throw new Error(`I-9 version ${fact.version} was free`);
    }
  }
  /** Removes the jobs, so that the next run cannot lease them. */
  async clearUp(): Promise<void> {
    await this.#lab.sql('delete from training_job where model_name = $1', [this.#facts.modelName]);
  }

  async #live(): Promise<number> {
    const [row] = await this.#lab.sql<{ n: number }>(
      `select count(*)::int as n from training_job where model_name = $1 and state not in ('completed', 'failed', 'canceled')`,
      [this.#facts.modelName],
    );
    return row?.n ?? 0;
  }
  /** I-7: no runner makes a call until every lease has expired. */
  async #silence(): Promise<void> {
    for (const one of this.#states) one.current = undefined;
    await this.#lab.advance(leaseMs + 1000);
    await this.#lab.until('I-7 no lease without a runner', async () => {
      const [row] = await this.#lab.sql<{ n: number }>(
        'select count(*)::int as n from training_job where lease_until is not null',
      );
      if (row?.n === 0) return true;
      await this.#lab.advance(1000);
      return false;
    });
  }

  async #call(one: Call): Promise<void> {
    const facts = [...this.#facts.jobs.values()];
    switch (one.is) {
      case 'submit':
        await this.#submit(`v${one.version}`, one.client);
        return;
      case 'cancel':
      case 'delete':
      case 'get':
      case 'logs': {
        const fact = facts[one.job % Math.max(1, facts.length)];
        return fact && this.#ofJob(one.is, fact, one.client);
      }
      case 'list':
        return this.#list(one.size, one.client);
      default:
        return this.#runner.perform(one, this.#states[one.runner]!);
    }
  }
  async #submit(version: string, from: number): Promise<Outcome<string>> {
    const { modelName } = this.#facts;
    const protocol = protocols[from] ?? 'connect';
    const done = await outcome(() => this.#lab.submit(this.#datasetId, version, { modelName, protocol }));
    if (done.ok) {
      const known = [...this.#facts.jobs.values()].find((fact) => fact.version === version);
      if (known) throw new Error(`I-9 version ${version} was given to two jobs`);
      this.#facts.jobs.set(done.answer, newFact(done.answer, version));
      this.#facts.claims.set(version, done.answer);
    }
    return done;
  }
  #training(from: number): Promise<Client<typeof MLTrainingService>> {
    return this.#lab.client(MLTrainingService, 'owner', protocols[from] ?? 'connect');
  }
  async #ofJob(is: 'cancel' | 'delete' | 'get' | 'logs', fact: JobFacts, from: number): Promise<void> {
    const { id } = fact;
    switch (is) {
      case 'cancel':
        if ((await outcome(async () => (await this.#training(from)).cancelTrainingJob({ id }))).ok) {
          fact.cancelAcked = true;
        }
        return;
      case 'delete': {
        fact.deletions++;
        const done = await outcome(async () => (await this.#training(from)).deleteCompletedTrainingJob({ id }));
        if (done.ok) fact.deleteAcked = true;
        else if (done.code === 'JOB_NOT_FINISHED') fact.deletions--;
        return;
      }
      case 'get': {
        const wasDeleted = fact.deleteAcked;
        const done = await outcome(async () => (await this.#training(from)).getTrainingJob({ id }));
        if (!done.ok) {
          if (done.code === 'TRAINING_JOB_NOT_FOUND' && fact.deletions === 0)
            throw new Error(`I-1 ${fact.version} is gone`);
          return;
        }
        const { status = 0, attempt = 0 } = done.answer.metadata ?? {};
        if (wasDeleted) throw new Error(`I-10 ${fact.version} is back`);
        this.#see(fact, statusNames.get(status) ?? '', attempt);
        return;
      }
      case 'logs':
        return this.#logs(fact, from);
    }
  }
  #see(fact: JobFacts, status: string, attempt: number): void {
    const before = fact.seen;
    // Two answers may arrive out of order; a final state is not overwritten.
    if (before && ['completed', 'failed', 'canceled'].includes(before.status)) return;
    if (!before || attempt >= before.attempt) fact.seen = { status, attempt };
  }
  async #logs(fact: JobFacts, from: number): Promise<void> {
    // Lines acknowledged during the read may be missing from its pages.
    const acked = new Set(fact.lines);
    const lines: string[] = [];
    for (let pageToken = ''; ;) {
      const done = await outcome(async () =>
        (await this.#training(from)).getTrainingJobLogs({ id: fact.id, pageToken }),
      );
      if (!done.ok) return;
      lines.push(...done.answer.logs.map((line) => line.message).filter((message) => /^(late|\d+ \d+)/.test(message)));
      pageToken = done.answer.nextPageToken;
      if (pageToken === '') break;
    }
    const wrong = brokenLog({ ...fact, lines: acked }, lines);
    if (wrong.length > 0) throw new Error(wrong.join('; '));
  }
  /** Every earlier job is on exactly one page, newest first. */
  async #list(pageSize: number, from: number): Promise<void> {
    const before = [...this.#facts.jobs.values()].map((fact) => fact.id);
    const found: string[] = [];
    for (let pageToken = ''; ;) {
      const done = await outcome(async () => {
        const { org_id: organizationId } = this.#lab.ready;
        return (await this.#training(from)).listTrainingJobs({ organizationId, pageSize, pageToken });
      });
      if (!done.ok) return;
      const own = done.answer.jobs.filter((one) => one.modelName === this.#facts.modelName);
      found.push(...own.map((one) => one.id));
      pageToken = done.answer.nextPageToken;
      if (pageToken === '' || own.length < done.answer.jobs.length) break;
    }
    if (new Set(found).size !== found.length) throw new Error('I-13 a job is on two pages');
    const missing = before.filter((id) => !found.includes(id) && this.#facts.jobs.get(id)?.deletions === 0);
    if (missing.length > 0) throw new Error(`I-13 ${missing.length} jobs are on no page`);
  }
}

const statusNames = new Map<number, string>([
  [TrainingStatus.PENDING, 'pending'],
  [TrainingStatus.IN_PROGRESS, 'in_progress'],
  [TrainingStatus.COMPLETED, 'completed'],
  [TrainingStatus.FAILED, 'failed'],
  [TrainingStatus.CANCELED, 'canceled'],
  [TrainingStatus.CANCELING, 'canceling'],
]);

export const newFact = (id: string, version: string): JobFacts => ({
  id,
  version,
  cancelAcked: false,
  deletions: 0,
  deleteAcked: false,
  completedBy: undefined,
  lines: new Set(),
  seen: undefined,
});
