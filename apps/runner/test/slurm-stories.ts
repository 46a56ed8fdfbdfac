/** Stories of a dispatcher process with Slurm, the same on a real cluster and on the simulated one. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { JobSpec } from '@platform/contract/job/job';
import { plainEnvironment, isAlive, processStartTime, signalGroup } from '@platform/kit/node';
import { tempFolder, type TempFolder } from '@platform/kit/testing';
import { QueueServer, type QueuedJob } from './queue-server.ts';

/** What a story needs of Slurm, beside the REST server that the dispatcher speaks to. */
export interface Cluster extends AsyncDisposable {
  /** The dispatcher's. */
  readonly flags: readonly string[];
  /** New jobs stay in the queue. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  rest(is: 'on' | 'off'): Promise<void>;
  /** As `scancel`. */
  operatorCancels(ref: string): Promise<void>;
  /** Every node is down, with what ran there, and up again. */
  nodesFail(): Promise<void>;
  /** Name and state of each job, also those that ended lately. */
  jobs(): Promise<readonly { ref: string; name: string; state: string }[]>;
}

const program = fileURLToPath(new URL('runner-with-fake-trainer.ts', import.meta.url));
const attempts = `${process.execPath} --disable-warning=ExperimentalWarning ${program}`;

class Stage implements AsyncDisposable {
  readonly server = new QueueServer();
  readonly cluster: Cluster;
  readonly #folder: TempFolder;
  #url = '';
  #child: ChildProcess | undefined;

  constructor(cluster: Cluster, folder: TempFolder) {
    this.cluster = cluster;
    this.#folder = folder;
  }
  async start(...more: string[]): Promise<void> {
    this.#url ||= await this.server.start();
    const own = ['--attempt-command', attempts, '--engine-poll-seconds', '1', '--grace-seconds', '3'];
    this.#child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', program, ...this.cluster.flags, ...own, ...more],
      {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: plainEnvironment({ TEST_URL: this.#url, TEST_FOLDER: this.#folder.path }),
      },
    );
  }
  async end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (!child) return;
    child.kill(signal);
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  /** IDs of its own: all stories share one cluster. */
  submit(change: Partial<JobSpec> = {}): QueuedJob {
    return this.server.submit({ id: randomUUID(), ...change });
  }
  held = (): Promise<string[]> =>
    readdir(this.#folder.file('dispatch')).then((names) => names.filter((n) => n.endsWith('.json')));

  /** The engine's view of a job's attempts. */
  async inEngine(job: QueuedJob): Promise<readonly { ref: string; state: string }[]> {
    const all = await this.cluster.jobs();
    return all.filter(({ name }) => name.startsWith(`platform-${job.spec.id}-`));
  }
  async untilEngine(job: QueuedJob, wanted: RegExp): Promise<string> {
    for (let looks = 0; ; looks++) {
      const [found] = await this.inEngine(job);
      if (found && wanted.test(found.state)) return found.ref;
      if (looks > 300) throw new Error(`${job.spec.id} is ${found?.state ?? 'absent'}, not ${wanted.source}`);
      await this.server.pause(100);
    }
  }
  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGTERM');
    await this.cluster.resume();
    for (const { ref, state } of await this.cluster.jobs()) {
      if (/^(PENDING|RUNNING)$/.test(state)) await this.cluster.operatorCancels(ref);
    }
    await this.server[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

const hasLogged = (job: QueuedJob, pattern: RegExp): boolean => job.logs.some(({ message }) => pattern.test(message));
const hasBegun = (job: QueuedJob): boolean => hasLogged(job, /^pid /);

export function slurmStories(startCluster: () => Promise<Cluster>): void {
  const shared: { cluster?: Cluster } = {};
  before(async () => {
    shared.cluster = await startCluster();
  });
  after(() => shared.cluster?.[Symbol.asyncDispose]());
  const stage = async (...flags: string[]): Promise<Stage> => {
    if (!shared.cluster) throw new Error('there is no cluster');
    const made = new Stage(shared.cluster, await tempFolder());
    await made.start(...flags);
    return made;
  };

  test('waits in the engine as queued, runs there, delivers by itself; nothing stays behind', async () => {
    await using s = await stage();
    await s.cluster.pause();
    const job = s.submit();
    await s.server.until('waits', () => hasLogged(job, /^Slurm job \d+ waits: /));
    assert.deepEqual([...job.phases], ['queued']);
    await s.cluster.resume();
    await s.server.until('completed', () => job.state === 'completed');
    assert.equal(job.attempt, 1);
    assert.deepEqual(job.evaluation, { accuracy: 0.75, attempt: 1 });
    assert.deepEqual(
      job.files.map(({ path }) => path),
      ['env.json', 'evaluation.json', 'm.onnx', 'more/labels.txt'],
    );
    const env = s.server.blobs.get(job.files[0]?.sha256 ?? '')?.toString() ?? '';
    assert.ok(!/TOKEN|API_KEY|SLURM_JWT/.test(env), env);
    assert.ok(job.phases.has('uploading') && hasLogged(job, /^begun$/));
    const sequences = job.logs.map(({ sequence }) => sequence);
    assert.deepEqual(
      sequences,
      [...new Set(sequences)].toSorted((a, b) => a - b),
      'lines of both in one order',
    );
    await s.untilEngine(job, /^COMPLETED$/);
    await s.server.untilAsync('forgotten', async () => (await s.held()).length === 0);
  });

  test('several at once, each with what it asks for', async () => {
    await using s = await stage('--engine-jobs', '3', '--engine-gpus', '1');
    const limits = { wall_seconds: 60, memory_mib: 500, disk_mib: 100 };
    const jobs = [{ ...limits, gpus: 1 }, limits, limits].map((one) =>
      s.submit({ limits: one, arguments: { act: 'obey' } }),
    );
    await s.server.until('all have begun', () => jobs.every(hasBegun));
    for (const job of jobs) s.server.cancel(job);
    await s.server.until('all canceled', () => jobs.every(({ state }) => state === 'canceled'));
    // Each attempt heard it by itself: the engine had nothing to end.
    for (const job of jobs) await s.untilEngine(job, /^COMPLETED$/);
    const gpu = jobs.map((job) => hasLogged(job, /^gpu /));
    assert.deepEqual(gpu, [true, false, false]);
  });

  test('canceled while it waits in the engine: gone there, too', async () => {
    await using s = await stage();
    await s.cluster.pause();
    const job = s.submit();
    await s.untilEngine(job, /^PENDING$/);
    s.server.cancel(job);
    await s.server.until('canceled', () => job.state === 'canceled');
    await s.untilEngine(job, /^CANCELLED$/);
    await s.cluster.resume();
  });

  test('a trainer that does not listen: the attempt kills it, or the engine kills both', async () => {
    await using s = await stage();
    const job = s.submit({ arguments: { act: 'deaf' } });
    await s.server.until('begun', () => hasBegun(job));
    s.server.cancel(job);
    await s.server.until('canceled', () => job.state === 'canceled');
    await s.untilEngine(job, /^(COMPLETED|CANCELLED)$/);
  });

  test('the trainer fails: its own words, and FAILED in the engine', async () => {
    await using s = await stage();
    const job = s.submit({ arguments: { act: 'bad' } });
    await s.server.until('failed', () => job.state === 'failed');
    assert.deepEqual([job.failure?.cause, job.failure?.code], ['data', 'TOO_FEW_LABELS']);
    await s.untilEngine(job, /^FAILED$/);
  });

  for (const when of ['waiting', 'running'] as const) {
    test(`an operator of the cluster cancels it while ${when}: failed, and it says by whom`, async () => {
      await using s = await stage();
      if (when === 'waiting') await s.cluster.pause();
      const job = s.submit({ arguments: { act: 'obey' } });
      if (when === 'running') await s.server.until('begun', () => hasBegun(job));
      const ref = await s.untilEngine(job, when === 'waiting' ? /^PENDING$/ : /^RUNNING$/);
      // The dispatcher must know its job before it can miss it.
      await s.server.until('submitted', () => hasLogged(job, /is submitted/));
      await s.cluster.operatorCancels(ref);
      await s.server.until('failed', () => job.state === 'failed');
      assert.deepEqual([job.failure?.cause, job.failure?.code], ['infrastructure', 'ENGINE_JOB_CANCELED']);
      assert.match(
        job.failure?.message ?? '',
        new RegExp(`Slurm job ${ref} was canceled by an operator of the cluster`),
      );
      await s.cluster.resume();
    });
  }

  test('its node fails: lost, with the word of the engine', async () => {
    await using s = await stage();
    const job = s.submit({ arguments: { act: 'hang' } });
    await s.server.until('begun', () => hasBegun(job));
    await s.untilEngine(job, /^RUNNING$/);
    await s.cluster.nodesFail();
    await s.server.until('failed', () => job.state === 'failed');
    assert.deepEqual([job.failure?.cause, job.failure?.code], ['infrastructure', 'ENGINE_JOB_LOST']);
    assert.match(job.failure?.message ?? '', /NODE_FAIL/);
    // Slurm ends the trainer, too; a simulated one does not.
    const pid = Number(job.logs.find(({ message }) => message.startsWith('pid '))?.message.slice(4));
    if (processStartTime(pid) !== undefined) signalGroup(pid, 'SIGKILL');
  });

  for (const when of ['waiting', 'running'] as const) {
    test(`the dispatcher is killed while its job is ${when}: the next one takes it over, nothing runs twice`, async () => {
      await using s = await stage();
      if (when === 'waiting') await s.cluster.pause();
      const job = s.submit({ arguments: { act: when === 'waiting' ? 'succeed' : 'obey' } });
      if (when === 'running') await s.server.until('begun', () => hasBegun(job));
      await s.untilEngine(job, when === 'waiting' ? /^PENDING$/ : /^RUNNING$/);
      await s.end('SIGKILL');
      await s.start();
      const calls = s.server.calls.length;
      await s.server.until('asks for more work', () => s.server.calls.slice(calls).includes('authenticate'));
      await s.cluster.resume();
      if (when === 'running') s.server.cancel(job);
      await s.server.until('over', () => job.state === (when === 'running' ? 'canceled' : 'completed'));
      assert.equal(job.attempt, 1);
      assert.equal((await s.inEngine(job)).length, 1);
    });
  }

  test('a dispatcher that comes back too late ends the abandoned attempts and reports nothing', async () => {
    await using s = await stage();
    await s.cluster.pause();
    const job = s.submit();
    await s.untilEngine(job, /^PENDING$/);
    await s.end('SIGKILL');
    s.server.takeAway(job);
    await s.start();
    await s.untilEngine(job, /^CANCELLED$/);
    await s.server.untilAsync('forgotten', async () => (await s.held()).length === 0);
    assert.equal(job.failure, undefined);
  });

  test('the lease is lost while it runs: the attempt ends itself, and nothing is reported', async () => {
    await using s = await stage();
    const job = s.submit({ arguments: { act: 'hang' } });
    await s.server.until('begun', () => hasBegun(job));
    const pid = Number(job.logs.find(({ message }) => message.startsWith('pid '))?.message.slice(4));
    const trainer = { pid, startTime: processStartTime(pid) ?? '' };
    s.server.takeAway(job);
    await s.untilEngine(job, /^FAILED$/);
    assert.equal(isAlive(trainer), false);
    await s.server.untilAsync('forgotten', async () => (await s.held()).length === 0);
    assert.equal(job.failure, undefined);
  });

  test('shut down in order: what waits goes back, what runs goes on and is taken over', async () => {
    await using s = await stage();
    const running = s.submit({ arguments: { act: 'obey' } });
    await s.server.until('begun', () => hasBegun(running));
    await s.cluster.pause();
    const waiting = s.submit();
    await s.untilEngine(waiting, /^PENDING$/);
    await s.server.until('submitted', () => hasLogged(waiting, /is submitted/));
    await s.end('SIGTERM');
    assert.equal(waiting.failure?.code, 'RUNNER_STOPPED');
    await s.untilEngine(waiting, /^CANCELLED$/);
    assert.equal(running.state, 'in_progress');
    await s.cluster.resume();
    await s.start();
    s.server.cancel(running);
    await s.server.until('canceled', () => running.state === 'canceled');
    await s.server.untilAsync('forgotten', async () => (await s.held()).length === 0);
  });

  test('the REST server is away for a while: nothing is lost', async () => {
    await using s = await stage();
    const first = s.submit({ arguments: { act: 'obey' } });
    await s.server.until('begun', () => hasBegun(first));
    await s.cluster.rest('off');
    const second = s.submit();
    await s.server.until('second is leased', () => second.state === 'in_progress');
    await s.server.pause(2_500);
    assert.deepEqual([first.state, second.state], ['in_progress', 'in_progress']);
    await s.cluster.rest('on');
    await s.server.until('second completed', () => second.state === 'completed');
    assert.equal((await s.inEngine(second)).length, 1);
    s.server.cancel(first);
    await s.server.until('canceled', () => first.state === 'canceled');
  });

  test('a partition that is not there: the engine’s refusal in the job', async () => {
    await using s = await stage('--slurm-partition', 'nowhere');
    const job = s.submit();
    await s.server.until('failed', () => job.state === 'failed');
    assert.deepEqual([job.failure?.cause, job.failure?.code], ['infrastructure', 'ENGINE_REFUSED']);
    assert.match(job.failure?.message ?? '', /Invalid partition name/);
  });

  test('no runner on the node: the exit code with its remedy and the end of the output', async () => {
    await using s = await stage('--attempt-command', '/nowhere/platform-runner');
    const job = s.submit();
    await s.server.until('failed', () => job.state === 'failed');
    assert.equal(job.failure?.code, 'ENGINE_JOB_LOST');
    assert.match(job.failure?.message ?? '', /exit code 12[67], the runner was not found there: .*--attempt-command/);
    assert.match(job.failure?.message ?? '', /\n.*platform-runner: No such file or directory/);
  });
}
