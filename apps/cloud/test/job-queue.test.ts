/**
 * The queue as clients and runners see it: pages, positions, runner capabilities, engines, concurrent calls, clock
 * jumps.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { MLTrainingService, TrainingStatus } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { type LeaseJobRequestSchema, RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { FakeClock } from '@platform/kit/testing';
import { steadyTime } from '../src/process/steady-time.ts';
import { overdueAttempts, reapJobs } from '../src/training/store/job-reaper.ts';
import { expireLeases, leaseMs, renewLeases } from '../src/training/store/job-queue.ts';
import { testLog } from './database.ts';
import { datasetOf, submission } from './training-data.ts';
import { outcome, trainingServer } from './training-server.ts';

type Lease = MessageInitShape<typeof LeaseJobRequestSchema>;
const builtIn = 'single_label_classification';
const hour = 3_600_000;

async function setUp(clock?: FakeClock) {
  const server = await trainingServer(clock);
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const training = server.client(MLTrainingService, 'owner');
  const runner = server.client(RunnerService, 'runner');
  const organizationId = server.own.orgId;
  const submit = async (modelVersion: string, resources = {}) =>
    (await training.submitTrainingJob(submission(server, datasetId, { modelVersion, resources }))).id;
  const lease = async (runnerId: string, more: Lease = {}) =>
    (await runner.leaseJob({ runnerId, kinds: [builtIn], ...more })).job;
  const status = async (id: string): Promise<string> => {
    const { metadata } = await training.getTrainingJob({ id });
    const name = Object.entries(TrainingStatus).find(([, number]) => number === metadata?.status)?.[0] ?? '?';
    return `${name} ${metadata?.attempt}`;
  };
  const versions = async (status_: TrainingStatus, pageSize = 0, pageToken = '') => {
    const { jobs, nextPageToken } = await training.listTrainingJobs({
      organizationId,
      status: status_,
      pageSize,
      pageToken,
    });
    return { jobs: jobs.map((job) => `${job.modelVersion}@${job.queuePosition}`), nextPageToken };
  };
  const files = async () => [{ path: 'm.onnx', ...(await server.putBlob(Buffer.from('model'))) }];
  return {
    server,
    training,
    runner,
    organizationId,
    datasetId,
    submit,
    lease,
    status,
    versions,
    files,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test('pages: newest first, each job once, also while jobs come and clocks are set back', async () => {
  const clock = new FakeClock();
  await using world = await setUp(clock);
  const { submit, versions } = world;
  for (let n = 1; n <= 5; n++) {
    await submit(String(n));
    clock.jumpWall(-hour);
  }
  const all: string[] = [];
  let pageToken = '';
  for (let page = 1; page <= 3; page++) {
    const found = await versions(TrainingStatus.UNSPECIFIED, 2, pageToken);
    assert.equal(found.nextPageToken === '', page === 3);
    all.push(...found.jobs);
    pageToken = found.nextPageToken;
    await submit(`new ${page}`);
  }
  assert.deepEqual(all, ['5@5', '4@4', '3@3', '2@2', '1@1']);
  const { jobs, nextPageToken } = await versions(TrainingStatus.UNSPECIFIED);
  assert.deepEqual([jobs.length, jobs[0], nextPageToken], [8, 'new 3@8', '']);
});

test('pages of one status; exactly full ones have no empty page after them', async () => {
  await using world = await setUp();
  const { submit, versions, lease, training } = world;
  for (let n = 1; n <= 6; n++) await submit(String(n));
  const first = await lease('r1');
  await training.cancelTrainingJob({ id: (await world.lease('r2'))?.id ?? '' });
  const page = await versions(TrainingStatus.PENDING, 2);
  assert.deepEqual(page.jobs, ['6@4', '5@3']);
  const last = await versions(TrainingStatus.PENDING, 2, page.nextPageToken);
  assert.deepEqual([last.jobs, last.nextPageToken], [['4@2', '3@1'], '']);
  assert.deepEqual((await versions(TrainingStatus.IN_PROGRESS, 1)).jobs, ['1@0']);
  assert.deepEqual((await versions(TrainingStatus.CANCELING, 1)).jobs, ['2@0']);
  const { metadata } = await training.getTrainingJob({ id: first?.id ?? '' });
  assert.deepEqual([metadata?.runnerId, metadata?.queuePosition], ['r1', 0]);
});

test('the place in the queue counts only jobs that a runner of this job would take before it', async () => {
  await using world = await setUp();
  const { submit, versions, lease, training } = world;
  // A runner without GPUs that holds a job.
  const held = await submit('held');
  assert.equal((await lease('r1'))?.id, held);
  for (const n of [1, 2, 3]) await submit(`gpu ${n}`, { gpus: 4 });
  const id = await submit('small');
  assert.deepEqual((await versions(TrainingStatus.PENDING)).jobs, ['small@1', 'gpu 3@3', 'gpu 2@2', 'gpu 1@1']);
  const { metadata } = await training.getTrainingJob({ id });
  assert.equal(metadata?.queuePosition, 1);
  assert.equal((await lease('r2'))?.id, id);
});

test('pages: what is refused', async () => {
  await using world = await setUp();
  const { training, organizationId, submit } = world;
  await submit('1');
  const rows: [request: object, expected: string][] = [
    [{ pageSize: 1001 }, '3 INVALID_ARGUMENT'],
    [{ pageToken: 'x' }, '3 INVALID_ARGUMENT'],
    [{ pageToken: btoa('data 1 2') }, '3 INVALID_ARGUMENT'],
    [{ pageToken: btoa('jobs -1') }, '3 INVALID_ARGUMENT'],
    [{ pageSize: 1000 }, 'ok'],
    [{ pageToken: btoa('jobs 1'), pageSize: 1 }, 'ok'],
  ];
  for (const [request, expected] of rows) {
    const got = await outcome(training.listTrainingJobs({ organizationId, ...request }));
    assert.equal(got, expected, JSON.stringify(request));
  }
});

test('a list has the score and no evaluation; one job has both', async () => {
  await using world = await setUp();
  const { submit, lease, runner, training, organizationId, files } = world;
  const evaluations: [version: string, evaluation: object, score: string | undefined][] = [
    ['single', { accuracy: 0.75, micro_f1: 'x', count: 40 }, 'accuracy 0.75 40'],
    ['multi', { micro_f1: 0.5, count: 'many' }, 'micro_f1 0.5 0'],
    ['boxes', { map50: 0.25, count: -1e300 }, 'map50 0.25 0'],
    ['odd', { accuracy: 'high' }, undefined],
    ['none', {}, undefined],
  ];
  for (const [version, evaluation] of evaluations) {
    await submit(version);
    const job = await lease('r1');
    await runner.completeJob({
      jobId: job?.id ?? '',
      attempt: 1,
      runnerId: 'r1',
      files: await files(),
      evaluation: evaluation as Record<string, string>,
    });
  }
  const { jobs } = await training.listTrainingJobs({ organizationId });
  for (const [version, evaluation, score] of evaluations) {
    const line = jobs.find((job) => job.modelVersion === version);
    assert.equal(line?.evaluation, undefined);
    assert.equal(line?.score && `${line.score.name} ${line.score.value} ${line.score.count}`, score);
    const { metadata } = await training.getTrainingJob({ id: line?.id ?? '' });
    assert.deepEqual(metadata?.evaluation, evaluation);
  }
});

test('a runner gets the oldest job that fits: it must have the requested GPUs', async () => {
  await using world = await setUp();
  const { submit, lease, status } = world;
  const big = await submit('big', { gpus: 2 });
  const middle = await submit('middle', { gpus: 1 });
  const small = await submit('small');
  assert.equal((await lease('none'))?.id, small);
  assert.equal(await lease('none again'), undefined);
  assert.equal((await lease('one', { gpus: 1 }))?.id, middle);
  assert.equal(await lease('one again', { gpus: 1 }), undefined);
  assert.equal(await status(big), 'PENDING 0');
  assert.equal((await lease('four', { gpus: 4 }))?.id, big);
});

test('a job of another environment, and a script where none are run, are passed over', async () => {
  await using world = await setUp();
  const { server, submit, lease } = world;
  const ids = [await submit('script'), await submit('any'), await submit('built in')];
  for (const [id, container] of [
    [ids[0], 'py:3.11'],
    [ids[1], ''],
  ] as const) {
    await server.db
      .updateTable('trainingJob')
      .set({ kind: 'custom', containerVersion: container })
      .where('id', '=', id ?? '')
      .execute();
  }
  const scripts = { kinds: [builtIn, 'custom'] };
  const py = (key: string) => [{ key }];
  assert.equal((await lease('r1'))?.id, ids[2]);
  assert.equal((await lease('r2', { ...scripts, containers: py('py:3.12') }))?.id, ids[1]);
  assert.equal(await lease('r3', { ...scripts, containers: py('py:3.12') }), undefined);
  assert.equal((await lease('r4', { ...scripts, containers: py('py:3.11') }))?.id, ids[0]);
});

test('queued in an engine: pending to clients until it begins; then it has begun for good', async () => {
  const clock = new FakeClock();
  await using world = await setUp(clock);
  const { submit, lease, status, runner, training, versions } = world;
  const id = await submit('1');
  await submit('2');
  const attempt = { jobId: id, attempt: 1, runnerId: 'dispatcher' };
  assert.equal((await lease('dispatcher', { executor: 'slurm' }))?.id, id);
  const seen = async () => {
    const { metadata } = await training.getTrainingJob({ id });
    return [await status(id), metadata?.queuePosition, metadata?.phase, metadata?.trainingStarted !== undefined];
  };
  assert.deepEqual(await seen(), ['PENDING 1', 0, 'queued', false]);
  assert.deepEqual((await versions(TrainingStatus.PENDING)).jobs, ['2@1', '1@0']);
  assert.deepEqual((await versions(TrainingStatus.IN_PROGRESS)).jobs, []);
  await runner.reportJob({ ...attempt, phase: 'queued' });
  await clock.advance(hour);
  assert.deepEqual(await seen(), ['PENDING 1', 0, 'queued', false]);
  await runner.reportJob({ ...attempt, phase: 'preparing' });
  assert.deepEqual(await seen(), ['IN_PROGRESS 1', 0, 'preparing', true]);
  const { metadata } = await training.getTrainingJob({ id });
  assert.equal(Number(metadata?.trainingStarted?.seconds) * 1000, clock.wall());
  assert.equal(Number(metadata?.deadline?.seconds) * 1000, clock.wall() + hour, 'the queue is not on its time');
  // A late report of the dispatcher.
  await runner.reportJob({ ...attempt, phase: 'queued' });
  assert.deepEqual(await seen(), ['IN_PROGRESS 1', 0, 'preparing', true]);
  assert.deepEqual((await versions(TrainingStatus.IN_PROGRESS)).jobs, ['1@0']);
});

test('queued in an engine: a cancel is an order like any other', async () => {
  await using world = await setUp();
  const { submit, lease, status, runner, training } = world;
  const id = await submit('1');
  await lease('dispatcher', { executor: 'slurm' });
  await training.cancelTrainingJob({ id });
  assert.equal(await status(id), 'CANCELING 1');
  await runner.confirmStop({ jobId: id, attempt: 1, runnerId: 'dispatcher' });
  assert.equal(await status(id), 'CANCELED 1');
});

test('a submit whose answer was lost: the second one returns the job of the first', async () => {
  await using world = await setUp();
  const { training, server, datasetId, submit } = world;
  const id = await submit('1');
  const again = await training.submitTrainingJob(submission(server, datasetId)).then(
    () => assert.fail('it was taken'),
    (error: unknown) => ConnectError.from(error),
  );
  assert.ok(again.message.includes(`by job ${id}`), again.message);
});

test('several jobs of one runner: those it names go on, the others are over', async () => {
  await using world = await setUp();
  const { submit, lease, runner, status } = world;
  const ids = [await submit('1'), await submit('2'), await submit('3')];
  const [first = '', second = '', third = ''] = ids;
  await lease('r1');
  await runner.reportJob({ jobId: first, attempt: 1, runnerId: 'r1' });
  assert.equal((await lease('r1', { runningJobIds: [first] }))?.id, second);
  await runner.reportJob({ jobId: second, attempt: 1, runnerId: 'r1' });
  // It lost the second job, which returns to its old position in the queue.
  assert.equal((await lease('r1', { runningJobIds: [first] }))?.id, second);
  assert.deepEqual(await Promise.all(ids.map(status)), ['IN_PROGRESS 1', 'IN_PROGRESS 2', 'PENDING 0']);
  await runner.reportJob({ jobId: second, attempt: 2, runnerId: 'r1' });
  assert.equal((await lease('r1', { runningJobIds: [first, second] }))?.id, third);
});

test('a call for work that was given up takes nothing, even where the server has not noticed', async () => {
  await using world = await setUp(new FakeClock());
  const { submit, lease, runner, status } = world;
  const wait = { seconds: 60n, nanos: 0 };
  const calls = [lease('r1', { wait }), lease('r1', { wait })];
  assert.equal(await Promise.race(calls), undefined, 'the newer call ends the older');
  const id = await submit('1');
  assert.deepEqual(
    (await Promise.all(calls)).flatMap((job) => job?.id ?? []),
    [id],
  );
  await runner.reportJob({ jobId: id, attempt: 1, runnerId: 'r1' });
  assert.equal(await status(id), 'IN_PROGRESS 1');
});

for (const hours of [-30, -1, 1, 30]) {
  test(`the wall clock jumps by ${hours} h: a runner that reports keeps its job, a silent one loses it in time`, async () => {
    const clock = new FakeClock();
    await using world = await setUp(clock);
    const { server, submit, lease, runner, status } = world;
    const ids = [await submit('alive'), await submit('silent'), await submit('failing')];
    const [alive = '', silent = '', failing = ''] = ids;
    const stop = new AbortController();
    const log = { ...testLog, warn: () => {} };
    const reaper = reapJobs({ db: server.db, clock, steady: steadyTime(clock), log }, stop.signal);
    for (const runnerId of ['r1', 'r2', 'r3']) await lease(runnerId);
    const trying = { jobId: failing, attempt: 1, runnerId: 'r3', code: 'DISK_FULL', message: 'no space' };
    await runner.failJob({ ...trying, cause: 'infrastructure' });
    clock.jumpWall(hours * hour);
    // While time advances, only the job is watched: each poll takes real time, so the reaper eventually runs.
    for (let past = 0; (await status(silent)) !== 'PENDING 1'; past += 1000) {
      await runner.reportJob({ jobId: alive, attempt: 1, runnerId: 'r1' });
      await clock.advance(past < leaseMs + 5_000 ? 1000 : 100);
    }
    assert.equal(await status(alive), 'IN_PROGRESS 1');
    assert.equal((await lease('r4'))?.id, silent);
    assert.equal((await lease('r5'))?.id, failing, 'its pause is over, too');
    stop.abort();
    await clock.advance(1000);
    await reaper;
  });
}

test('a runner that reports for ever: its job ends some time after its limit, a canceled one sooner', async () => {
  const clock = new FakeClock();
  await using world = await setUp(clock);
  const { server, submit, lease, runner, status, training } = world;
  const [endless, canceled] = [await submit('endless'), await submit('canceled')];
  await lease('r1');
  await lease('r2');
  await training.cancelTrainingJob({ id: canceled });
  const overdue = overdueAttempts(server.db);
  const now = steadyTime(clock).now();
  const spare = hour;
  const limit = hour; // the default of the server
  const end = (at: number): Promise<number> => overdue.end(at, clock.wall());
  assert.equal(await end(now), 0);
  assert.equal(await end(now + spare - 1), 0);
  assert.equal(await status(canceled), 'CANCELING 1');
  assert.equal(await end(now + spare), 1);
  assert.equal(await status(canceled), 'CANCELED 1');
  assert.equal(await end(now + spare + limit - 1), 0);
  assert.equal(await end(now + spare + limit), 1);
  assert.equal(await status(endless), 'FAILED 1');
  const { metadata } = await training.getTrainingJob({ id: endless });
  assert.match(metadata?.errorStatus?.message ?? '', /TRAINING_TIMED_OUT/);
  assert.match(await outcome(runner.reportJob({ jobId: endless, attempt: 1, runnerId: 'r1' })), /LEASE_LOST/);
});

test('a clock that was hours ahead before the server started again: nothing waits for it', async () => {
  const clock = new FakeClock();
  await using world = await setUp(clock);
  const { server, submit, lease, runner, status } = world;
  const [leased, resting] = [await submit('1'), await submit('2')];
  await lease('r1');
  await lease('r2');
  const failed = { jobId: resting, attempt: 1, runnerId: 'r2', code: 'DISK_FULL', message: '' };
  await runner.failJob({ ...failed, cause: 'infrastructure' });
  // State at the next start of the server, with its clock corrected.
  const now = steadyTime(clock).now() - 5 * hour;
  await renewLeases(server.db, now);
  const until = await server.db.selectFrom('trainingJob').select(['id', 'leaseUntil', 'notBefore']).execute();
  assert.equal(until.find((row) => row.id === leased)?.leaseUntil, now + leaseMs);
  assert.ok((until.find((row) => row.id === resting)?.notBefore ?? 0) <= now + 20_000);
  assert.equal(await expireLeases(server.db, now + leaseMs - 1), 0);
  assert.equal(await expireLeases(server.db, now + leaseMs), 1);
  assert.equal(await status(leased), 'PENDING 1');
});

test('a server that was starved, or had no database, for longer than a lease takes no job away', async () => {
  const clock = new FakeClock();
  await using world = await setUp(clock);
  const { server, submit, lease, runner, status } = world;
  const id = await submit('1');
  await lease('r1');
  const stop = new AbortController();
  const steady = steadyTime(clock);
  const database = { isAway: false };
  const db = new Proxy(server.db, {
    get: (target, key, self) => {
      if (database.isAway) throw new Error('the database is away');
      return Reflect.get(target, key, self) as unknown;
    },
  });
  const reaper = reapJobs({ db, clock, steady, log: { ...testLog, warn: () => {} } }, stop.signal);
  await status(id);
  database.isAway = true;
  for (let n = 0; n < 20; n++) await clock.advance(1000);
  database.isAway = false;
  await clock.advance(1000);
  for (let n = 0; n < 5; n++) await status(id);
  assert.equal(await status(id), 'IN_PROGRESS 1');
  await runner.reportJob({ jobId: id, attempt: 1, runnerId: 'r1' });
  stop.abort();
  await clock.advance(1000);
  await reaper;
});
