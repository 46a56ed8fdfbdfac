/**
 * Faults around a job, on real processes: server, database, runner, trainer, disks, clocks. The invariants hold each
 * time.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import type { TrainingJobMetadata } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { MLTrainingService, TrainingStatus } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { isAlive, processStartTime } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { broken, type Facts, newFacts } from '../src/job-invariants.ts';
import { newFact } from '../src/job-workload.ts';
import { JobLab } from '../src/job-lab.ts';
import { startRunnerProcess } from '../src/acting-runner.ts';
import { canMount, diskFiller, fillDisk } from '../src/small-disk.ts';

const { PENDING, IN_PROGRESS, COMPLETED, CANCELED, FAILED } = TrainingStatus;
const skip = canMount() ? false : 'no right to mount';

const stage: { lab?: JobLab; datasetId: string } = { datasetId: '' };
before(async () => {
  stage.lab = await JobLab.open();
  stage.datasetId = await stage.lab.dataset();
});
after(() => stage.lab?.[Symbol.asyncDispose]());

function isAway(error: unknown): boolean {
  if (ConnectError.from(error).code !== Code.Unavailable) throw error;
  return false;
}

/** A job that the test watches; its model name selects the trainer's behaviour. */
async function scene(modelName: string, { lab, datasetId } = { lab: stage.lab!, datasetId: stage.datasetId }) {
  const facts: Facts = newFacts(modelName);
  const submit = async (version: string): Promise<string> => {
    const id = await lab.submit(datasetId, version, { modelName });
    facts.jobs.set(id, newFact(id, version));
    return id;
  };
  const get = async (id: string): Promise<TrainingJobMetadata> =>
    (await (await lab.client(MLTrainingService)).getTrainingJob({ id })).metadata!;
  const until = (id: string, what: string, isSo: (job: TrainingJobMetadata) => boolean): Promise<void> =>
    // While the server restarts, it may answer that it is unavailable.
    lab.until(`job ${modelName} ${what}`, () => get(id).then(isSo, isAway));
  const lines = async (id: string): Promise<string[]> =>
    (await (await lab.client(MLTrainingService)).getTrainingJobLogs({ id })).logs.map((line) => line.message);
  /** Returns the trainer of an attempt, once its log line has arrived. */
  const trainerOf = async (id: string, attempt = 1): Promise<{ pid: number; startTime: string }> => {
    let firstLine: string | undefined;
    await lab.until(`trainer ${attempt} of ${modelName}`, async () => {
      firstLine = (await lines(id)).filter((line) => line.startsWith('pid '))[attempt - 1];
      return firstLine !== undefined;
    });
    const pid = Number(firstLine?.slice(4));
    return { pid, startTime: processStartTime(pid) ?? '' };
  };
  /** Advances the clock until the server has noticed. */
  const passUntil = (id: string, what: string, isSo: (job: TrainingJobMetadata) => boolean): Promise<void> =>
    lab.until(`job ${modelName} ${what}`, async () => {
      if (isSo(await get(id))) return true;
      await lab.advance(1000);
      return false;
    });
  const holds = async (): Promise<void> => assert.deepEqual(await broken(lab, facts), []);
  const cancel = async (id: string): Promise<void> => {
    await (await lab.client(MLTrainingService)).cancelTrainingJob({ id });
  };
  const runner = (name: string, more: Parameters<typeof startRunnerProcess>[2] = {}) =>
    startRunnerProcess(lab.ready, lab.folder.file(`${modelName}-${name}`), more);
  return {
    lab,
    submit,
    get,
    until,
    trainerOf,
    passUntil,
    holds,
    cancel,
    runner,
    /** Jobs that a failed test leaves must not reach the runners of the next test. */
    [Symbol.asyncDispose]: async () => {
      await lab.sql('delete from training_job where model_name = $1', [modelName]);
    },
  };
}

test('the server is killed while a job trains, twice: the job goes on and completes as its first attempt', async () => {
  await using world = await scene('wait-server');
  const { lab, submit, get, until, trainerOf, holds, runner } = world;
  await using one = await runner('runner');
  const id = await submit('1');
  await trainerOf(id);
  await lab.restart();
  await holds();
  await lab.kill();
  // The trainer ends while the server is down.
  one.go();
  await lab.start();
  await until(id, 'completes', (job) => job.status === COMPLETED);
  assert.equal((await get(id)).attempt, 1);
  await holds();
});

test('the database is killed while a job trains: the job goes on and completes as its first attempt', async () => {
  await using world = await scene('wait-database');
  const { lab, submit, get, until, trainerOf, holds, runner } = world;
  await using one = await runner('runner');
  const id = await submit('1');
  await trainerOf(id);
  lab.killDatabase();
  await lab.untilReady();
  one.go();
  await until(id, 'completes', (job) => job.status === COMPLETED);
  assert.equal((await get(id)).attempt, 1);
  await holds();
});

test('a runner hangs: another one finishes the job, and the first, awake again, publishes nothing and works on', async () => {
  await using world = await scene('wait-hung');
  const { lab, submit, get, until, trainerOf, passUntil, holds, runner } = world;
  await using first = await runner('first');
  const id = await submit('1');
  const trainer = await trainerOf(id);
  process.kill(first.group.pid, 'SIGSTOP');
  // Its trainer ends meanwhile: a result is ready to publish.
  first.go();
  await lab.until('the trainer of the hung runner has ended', () => Promise.resolve(!isAlive(trainer)));
  await passUntil(id, 'is lost', (job) => job.status === PENDING);
  await using second = await runner('second');
  second.go();
  await until(id, 'completes', (job) => job.status === COMPLETED);
  assert.equal((await get(id)).attempt, 2);
  await second.group.stop({ termMs: 15_000 });
  process.kill(first.group.pid, 'SIGCONT');
  const next = await submit('2');
  await until(next, 'completes', (job) => job.status === COMPLETED);
  assert.equal((await get(id)).attempt, 2);
  await holds();
});

test('a runner is killed with its computer: the job is another one’s, three times, then it has failed', async () => {
  await using world = await scene('obey-lost');
  const { submit, get, trainerOf, passUntil, holds, runner } = world;
  const id = await submit('1');
  for (let attempt = 1; attempt <= 3; attempt++) {
    await using one = await runner(`runner ${attempt}`);
    await passUntil(id, `runs again (${attempt})`, (job) => job.status === IN_PROGRESS && job.attempt === attempt);
    const trainer = await trainerOf(id, attempt);
    one.group.signal('SIGKILL');
    process.kill(-trainer.pid, 'SIGKILL');
    await one.group.exited;
    await passUntil(id, 'is lost', (job) => job.status === (attempt < 3 ? PENDING : FAILED));
  }
  assert.deepEqual([(await get(id)).cause, (await get(id)).attempt], ['infrastructure', 3]);
  await holds();
});

for (const [act, graceSeconds] of [
  ['obey', '10'],
  ['deaf', '1'],
] as const) {
  test(`canceled while it trains, the trainer being ${act}: its process ends, and only then the job`, async () => {
    await using world = await scene(`${act}-canceled`);
    const { submit, until, trainerOf, holds, cancel, runner } = world;
    await using _one = await runner('runner', { args: ['--grace-seconds', graceSeconds] });
    const id = await submit('1');
    const trainer = await trainerOf(id);
    await cancel(id);
    await until(id, 'is canceled', (job) => job.status === CANCELED);
    assert.equal(isAlive(trainer), false);
    await holds();
  });
}

for (const hours of [-20, 20]) {
  test(`the server's clock jumps by ${hours} h: a job that runs goes on, one whose runner dies is noticed in time`, async () => {
    await using world = await scene(`wait-jump${hours}`);
    const { lab, submit, get, until, trainerOf, passUntil, holds, runner } = world;
    const [runs, dies] = [await submit('1'), await submit('2')];
    await using good = await runner('good');
    await trainerOf(runs);
    await using bad = await runner('bad');
    const trainer = await trainerOf(dies);
    await lab.jumpWall(hours * 3_600_000);
    bad.group.signal('SIGKILL');
    process.kill(-trainer.pid, 'SIGKILL');
    await passUntil(dies, 'is lost', (job) => job.status === PENDING);
    good.go();
    await until(runs, 'completes', (job) => job.status === COMPLETED);
    await until(dies, 'completes', (job) => job.status === COMPLETED);
    assert.deepEqual([(await get(runs)).attempt, (await get(dies)).attempt], [1, 2]);
    await holds();
  });
}

test('the disk of a runner is full: the job waits and completes when there is space again', { skip }, async () => {
  await using world = await scene('quick-full');
  const { lab, submit, get, until, passUntil, holds, runner } = world;
  await using one = await runner('runner', { diskMib: 8 });
  const first = await submit('1');
  await until(first, 'completes', (job) => job.status === COMPLETED);
  const { fill, free } = diskFiller(one.group.pid, lab.folder.file('quick-full-runner'));
  fill();
  const id = await submit('2');
  await until(id, 'is given back', (job) => {
    // The runner may still remove the files of the first job.
    fill();
    return job.status === PENDING && job.attempt > 0;
  });
  free();
  await passUntil(id, 'completes', (job) => job.status === COMPLETED);
  const { attempt, cause } = await get(id);
  assert.ok(attempt > 1 && cause === '', `${attempt} ${cause}`);
  await lab.untilReady();
  await holds();
});

test(
  'the disk of the server is full while a job ends: nothing is lost, and it completes as its first attempt',
  { skip },
  async () => {
    await using lab = await JobLab.open({ diskMib: 300 });
    const { submit, get, until, trainerOf } = await scene('wait-disk', { lab, datasetId: await lab.dataset() });
    await using outside = await tempFolder();
    await using one = await startRunnerProcess(lab.ready, outside.file('runner'));
    const id = await submit('1');
    await trainerOf(id);
    const free = fillDisk(lab.pid, lab.folder.path);
    one.go();
    await lab.until('the server takes no more files', () =>
      lab.putBlob(Buffer.alloc(2 ** 20, 1)).then(
        () => false,
        () => true,
      ),
    );
    await assert.rejects(submit('2'));
    free();
    await until(id, 'completes', (job) => job.status === COMPLETED);
    assert.equal((await get(id)).attempt, 1);
    await submit('3');
  },
);
