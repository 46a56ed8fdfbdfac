import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { MLTrainingService, TrainingStatus } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { type Job, RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { FakeClock, seededRandom } from '@platform/kit/testing';
import { removeOldJobLogs } from '../src/retention/store/old-rows.ts';
import { expireLeases, leaseMs, renewLeases } from '../src/training/store/job-queue.ts';
import { reapJobs } from '../src/training/store/job-reaper.ts';
import { steadyTime } from '../src/process/steady-time.ts';
import { testLog } from './database.ts';
import { datasetOf, submission } from './training-data.ts';
import { outcome, trainingServer, type Who } from './training-server.ts';

const kinds = ['single_label_classification'];
const seconds = (n: number) => ({ seconds: BigInt(n), nanos: 0 });

const statusName = (status: TrainingStatus | undefined): string =>
  Object.entries(TrainingStatus).find(([, number]) => number === status)?.[0] ?? '?';

async function setUp(clock?: FakeClock) {
  const server = await trainingServer(clock);
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const training = server.client(MLTrainingService, 'owner');
  const runner = server.client(RunnerService, 'runner');
  const submit = async (modelVersion: string) =>
    (await training.submitTrainingJob(submission(server, datasetId, { modelVersion }))).id;
  const lease = async (runnerId = 'r1', wait = 0): Promise<Job | undefined> =>
    (await runner.leaseJob({ runnerId, kinds, wait: seconds(wait) })).job;
  const status = async (id: string) => {
    const { metadata } = await training.getTrainingJob({ id });
    return `${statusName(metadata?.status)} ${metadata?.attempt}`;
  };
  const files = async () => [{ path: 'm.onnx', ...(await server.putBlob(Buffer.from('model'))) }];
  return {
    server,
    datasetId,
    training,
    runner,
    submit,
    lease,
    status,
    files,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test('a version is never free again: not by cancel, not by deletion', async () => {
  await using world = await setUp();
  const { training, submit } = world;
  const id = await submit('1');
  await training.cancelTrainingJob({ id });
  assert.equal(await outcome(submit('1')), '6 MODEL_VERSION_TAKEN');
  await training.deleteCompletedTrainingJob({ id });
  assert.equal(await outcome(training.getTrainingJob({ id })), '5 TRAINING_JOB_NOT_FOUND');
  assert.equal(await outcome(submit('1')), '6 MODEL_VERSION_TAKEN');
});

test('lists: newest first, by status, places in the queue', async () => {
  await using world = await setUp();
  const { training, server, submit, lease } = world;
  const ids = [await submit('1'), await submit('2'), await submit('3')];
  const organizationId = server.own.orgId;
  const list = async (status: TrainingStatus) =>
    (await training.listTrainingJobs({ organizationId, status })).jobs.map(
      (job) => `${ids.indexOf(job.id)}@${job.queuePosition}`,
    );
  assert.deepEqual(await list(TrainingStatus.UNSPECIFIED), ['2@3', '1@2', '0@1']);
  await lease();
  assert.deepEqual(await list(TrainingStatus.PENDING), ['2@2', '1@1']);
  assert.deepEqual(await list(TrainingStatus.RUNNING), ['0@0']);
  assert.deepEqual(await list(TrainingStatus.COMPLETED), []);
  assert.equal(
    await outcome(server.client(MLTrainingService, 'foreignOwner').listTrainingJobs({ organizationId })),
    '5 ORGANIZATION_NOT_FOUND',
  );
  assert.equal(
    await outcome(server.client(MLTrainingService, 'operator').listTrainingJobs({ organizationId })),
    '7 NOT_OWNER',
  );
  assert.equal(await outcome(training.listTrainingJobs({})), '3 INVALID_ARGUMENT');
});

test('a job of another organization, an unknown one, no id: not found; one of the own without the right: denied', async () => {
  await using world = await setUp();
  const { server, submit } = world;
  const id = await submit('1');
  const calls = (who: Who, jobId: string) => {
    const client = server.client(MLTrainingService, who);
    return [
      client.getTrainingJob({ id: jobId }),
      client.cancelTrainingJob({ id: jobId }),
      client.deleteCompletedTrainingJob({ id: jobId }),
      client.getTrainingJobLogs({ id: jobId }),
    ];
  };
  for (const [who, jobId, expected] of [
    ['foreignOwner', id, '5 TRAINING_JOB_NOT_FOUND'],
    ['operator', id, '7 NOT_OWNER'],
    ['owner', randomUUID(), '5 TRAINING_JOB_NOT_FOUND'],
    ['owner', 'x', '5 TRAINING_JOB_NOT_FOUND'],
    ['owner', '', '5 TRAINING_JOB_NOT_FOUND'],
  ] as const) {
    assert.deepEqual(
      await Promise.all(calls(who, jobId).map(outcome)),
      Array.from({ length: 4 }, () => expected),
      `${who} ${jobId}`,
    );
  }
});

test('a held lease call gets the job the moment it is submitted', async () => {
  // Time stands still, so only the notification can have woken it.
  await using world = await setUp(new FakeClock());
  const { lease, submit } = world;
  const waiting = lease('r1', 60);
  const id = await submit('1');
  assert.equal((await waiting)?.id, id);
});

test('twenty runners, twelve jobs: each job once', async () => {
  await using world = await setUp();
  const { submit, lease } = world;
  for (let n = 0; n < 12; n++) await submit(String(n));
  const jobs = await Promise.all(Array.from({ length: 20 }, (_, n) => lease(`r${n}`)));
  const got = jobs.flatMap((job) => (job ? [job.id] : []));
  assert.deepEqual([got.length, new Set(got).size], [12, 12]);
});

test('only kinds that the runner can, only for runners of the organization', async () => {
  await using world = await setUp();
  const { server, submit, runner } = world;
  await submit('1');
  const ask = (who: Who, kind: string) => server.client(RunnerService, who).leaseJob({ runnerId: 'r', kinds: [kind] });
  assert.equal((await ask('runner', 'custom')).job, undefined);
  assert.equal(await outcome(ask('runner', 'nonsense')), '3 INVALID_ARGUMENT');
  assert.equal(await outcome(runner.leaseJob({ kinds })), '3 INVALID_ARGUMENT');
  assert.equal(await outcome(ask('operator', 'custom')), '7 PERMISSION_DENIED');
  assert.equal(await outcome(ask('machine', 'custom')), '7 PERMISSION_DENIED');
  assert.equal((await ask('foreignOwner', 'single_label_classification')).job, undefined);
  const { job } = await ask('runner', 'single_label_classification');
  assert.ok(job);
  const attempt = { jobId: job.id, attempt: 1, runnerId: 'r' };
  const foreign = server.client(RunnerService, 'foreignOwner');
  for (const call of [
    () => foreign.reportJob(attempt),
    () => foreign.failJob({ ...attempt, cause: 'data' }),
    () => foreign.confirmStop(attempt),
    () => foreign.completeJob(attempt),
  ]) {
    assert.equal(await outcome(call()), '10 LEASE_LOST');
  }
  assert.equal(await outcome(server.client(RunnerService, 'operator').reportJob(attempt)), '7 PERMISSION_DENIED');
});

test('a lease that never arrived is handed out again unchanged; a runner that comes back has lost what it ran', async () => {
  await using world = await setUp();
  const { submit, lease, runner, status } = world;
  const id = await submit('1');
  assert.equal((await lease())?.attempt, 1);
  assert.equal((await lease())?.attempt, 1);
  await runner.reportJob({ jobId: id, attempt: 1, runnerId: 'r1' });
  const again = await lease();
  assert.deepEqual([again?.id, again?.attempt, await status(id)], [id, 2, 'IN_PROGRESS 2']);
});

test('fencing: an attempt that is over can change nothing', async () => {
  await using world = await setUp(new FakeClock());
  const { server, submit, lease, runner, status, files } = world;
  const clock = server.clock as FakeClock;
  const id = await submit('1');
  await lease('r1');
  await clock.advance(leaseMs);
  assert.equal(await expireLeases(server.db, clock.wall()), 1);
  assert.equal(await status(id), 'PENDING 1');
  assert.equal((await lease('r2'))?.attempt, 2);
  const old = { jobId: id, attempt: 1, runnerId: 'r1' };
  const rows: [name: string, call: () => Promise<unknown>][] = [
    ['report', () => runner.reportJob({ ...old, progress: 0.9, logs: [{ sequence: 1n, message: 'stale' }] })],
    ['fail', () => runner.failJob({ ...old, cause: 'data', code: 'DATASET_EMPTY', message: '' })],
    ['stop', () => runner.confirmStop(old)],
    ['complete', async () => runner.completeJob({ ...old, files: await files() })],
    ['complete as another runner', async () => runner.completeJob({ ...old, attempt: 2, files: await files() })],
  ];
  for (const [name, call] of rows) assert.equal(await outcome(call()), '10 LEASE_LOST', name);
  assert.equal(await status(id), 'IN_PROGRESS 2');
  assert.deepEqual(await server.db.selectFrom('trainingLog').selectAll().where('sequence', '>', 0).execute(), []);
  assert.deepEqual(await server.db.selectFrom('registryVersion').selectAll().execute(), []);
});

test('a silent runner is noticed, and the third loss is the end', async () => {
  const clock = new FakeClock();
  await using world = await setUp(clock);
  const { server, submit, lease, training } = world;
  const stop = new AbortController();
  const reaper = reapJobs(
    { db: server.db, clock, steady: steadyTime(clock), log: { ...testLog, warn: () => {} } },
    stop.signal,
  );
  /** Lets the reaper's queries run, which take real time. */
  const until = async (id: string, wanted: TrainingStatus, attempt: number) => {
    for (;;) {
      const { metadata } = await training.getTrainingJob({ id });
      if (metadata?.status === wanted && metadata.attempt === attempt) return metadata;
      await clock.advance(1000);
    }
  };
  const id = await submit('1');
  for (let attempt = 1; attempt <= 3; attempt++) {
    assert.equal((await lease(`r${attempt}`))?.attempt, attempt);
    await until(id, attempt < 3 ? TrainingStatus.PENDING : TrainingStatus.FAILED, attempt);
  }
  const { metadata } = await training.getTrainingJob({ id });
  assert.deepEqual(
    [metadata?.cause, metadata?.errorStatus?.code, metadata?.errorStatus?.details],
    ['infrastructure', 10, []],
  );
  assert.match(metadata?.errorStatus?.message ?? '', /lost 3 times/);
  stop.abort();
  await reaper;
});

test('after the server was away every lease starts anew', async () => {
  const clock = new FakeClock();
  await using world = await setUp(clock);
  const { server, submit, lease, runner, status } = world;
  const id = await submit('1');
  await lease();
  await clock.advance(10 * leaseMs);
  await renewLeases(server.db, clock.wall());
  assert.equal(await expireLeases(server.db, clock.wall() + leaseMs - 1), 0);
  await runner.reportJob({ jobId: id, attempt: 1, runnerId: 'r1', progress: 0.5 });
  assert.equal(await status(id), 'IN_PROGRESS 1');
});

test('cancel: the order reaches a held report at once, and only CANCELED comes of it', async () => {
  await using world = await setUp(new FakeClock());
  const { server, submit, lease, runner, training, status, files } = world;
  const id = await submit('1');
  await lease();
  const attempt = { jobId: id, attempt: 1, runnerId: 'r1' };
  const heldReport = runner.reportJob({ ...attempt, hold: seconds(60) });
  for (;;) {
    const [row] = await server.db.selectFrom('trainingJob').select('reported').execute();
    if (row?.reported) break;
  }
  await training.cancelTrainingJob({ id });
  await training.cancelTrainingJob({ id });
  assert.equal((await heldReport).stop, true);
  assert.equal(await status(id), 'CANCELING 1');
  assert.equal(await outcome(training.deleteCompletedTrainingJob({ id })), '9 JOB_NOT_FINISHED');
  assert.equal((await runner.reportJob(attempt)).stop, true, 'a later report returns it, too');
  assert.equal(
    await outcome((async () => runner.completeJob({ ...attempt, files: await files() }))()),
    '10 LEASE_LOST',
  );
  assert.equal(await status(id), 'CANCELED 1');
  assert.equal(await outcome(runner.confirmStop(attempt)), 'ok');
  assert.equal(await outcome(training.cancelTrainingJob({ id })), '9 JOB_FINISHED');
  assert.deepEqual(await server.db.selectFrom('registryVersion').selectAll().execute(), []);
  await training.deleteCompletedTrainingJob({ id });
});

test('cancel against completion, many times: one of the two, never both', async () => {
  await using world = await setUp();
  const { server, submit, lease, runner, training, files } = world;
  const random = seededRandom(3);
  const ends: Record<string, number> = {};
  const out = await files();
  for (let n = 0; n < 12; n++) {
    const id = await submit(String(n));
    await lease(`r${n}`);
    const complete = () => outcome(runner.completeJob({ jobId: id, attempt: 1, runnerId: `r${n}`, files: out }));
    const cancel = () => outcome(training.cancelTrainingJob({ id }));
    const both = random() < 0.5 ? [complete(), cancel()] : [cancel(), complete()];
    await Promise.all(both);
    const row = await server.db
      .selectFrom('trainingJob')
      .select(['state', 'modelId'])
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    const published = await server.db.selectFrom('registryVersion').select('version').where('jobId', '=', id).execute();
    assert.ok(['completed', 'canceled'].includes(row.state), row.state);
    assert.equal(published.length, row.state === 'completed' ? 1 : 0);
    assert.equal(row.modelId !== null, row.state === 'completed');
    ends[row.state] = (ends[row.state] ?? 0) + 1;
  }
});

test('failures: bad data is final, a failure of the runner is retried', async () => {
  const clock = new FakeClock();
  await using world = await setUp(clock);
  const { submit, lease, runner, training, status } = world;
  const bad = await submit('1');
  await lease();
  const failure = {
    jobId: bad,
    attempt: 1,
    runnerId: 'r1',
    cause: 'data',
    code: 'DATASET_EMPTY',
    message: 'nothing decodes: 20 images',
  };
  assert.equal((await runner.failJob(failure)).willRetry, false);
  assert.equal((await runner.failJob(failure)).willRetry, false, 'again');
  const { metadata } = await training.getTrainingJob({ id: bad });
  assert.deepEqual(
    [metadata?.status, metadata?.cause, metadata?.errorStatus?.code],
    [TrainingStatus.FAILED, 'data', 9],
  );
  assert.match(metadata?.errorStatus?.message ?? '', /DATASET_EMPTY: nothing decodes/);

  const id = await submit('2');
  for (let attempt = 1; attempt <= 3; attempt++) {
    assert.equal((await lease())?.attempt, attempt);
    const answer = await runner.failJob({
      jobId: id,
      attempt,
      runnerId: 'r1',
      cause: 'infrastructure',
      code: 'DISK_FULL',
      message: 'x',
    });
    assert.equal(answer.willRetry, attempt < 3);
    assert.equal(await lease(), undefined, 'it rests');
    await clock.advance(20_000);
  }
  assert.equal(await status(id), 'FAILED 3');
  assert.equal(await outcome(runner.failJob({ ...failure, cause: 'whim' })), '3 INVALID_ARGUMENT');
});

test('completion wants every file: uploaded, of that size, by this organization, at a safe path', async () => {
  await using world = await setUp();
  const { server, submit, lease, runner, files, status } = world;
  const id = await submit('1');
  await lease();
  const own = await server.putBlob(Buffer.from('own'));
  const foreign = await server.putBlob(Buffer.from('foreign'), server.foreign.orgId);
  const zeros = await server.putBlob(Buffer.alloc(80 * 2 ** 20));
  const complete = (list: { path: string; sha256: string; sizeBytes: bigint }[]) =>
    outcome(runner.completeJob({ jobId: id, attempt: 1, runnerId: 'r1', files: list }));
  const rows: [name: string, list: Parameters<typeof complete>[0], expected: string][] = [
    ['nothing', [], '3 INVALID_ARGUMENT'],
    ['never uploaded', [{ path: 'a', sha256: '0'.repeat(64), sizeBytes: 1n }], '9 BLOB_MISSING'],
    ['of another organization', [{ path: 'a', ...foreign }], '9 BLOB_MISSING'],
    ['no sha256', [{ path: 'a', sha256: '../../x', sizeBytes: 1n }], '9 BLOB_MISSING'],
    ['another size', [{ path: 'a', ...own, sizeBytes: 4n }], '3 INVALID_ARGUMENT'],
    ['up and away', [{ path: '../a', ...own }], '3 INVALID_ARGUMENT'],
    ['absolute', [{ path: '/a', ...own }], '3 INVALID_ARGUMENT'],
    ['a colon', [{ path: 'a:b', ...own }], '3 INVALID_ARGUMENT'],
    ['a long name', [{ path: 'x'.repeat(201), ...own }], '3 INVALID_ARGUMENT'],
    ['text turned around', [{ path: 'a\u202Eb', ...own }], '3 INVALID_ARGUMENT'],
    ['a compression bomb', [{ path: 'zeros', ...zeros }], '3 INVALID_ARGUMENT'],
    [
      'twice',
      [
        { path: 'a', ...own },
        { path: 'a', ...own },
      ],
      '3 INVALID_ARGUMENT',
    ],
  ];
  for (const [name, list, expected] of rows) assert.equal(await complete(list), expected, name);
  assert.equal(await status(id), 'IN_PROGRESS 1', 'the runner may correct itself');
  assert.equal(await complete(await files()), 'ok');
});

/** Log lines as a runner sends them. */
const lines = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    sequence: BigInt(from + n),
    level: 'info',
    message: `line ${from + n}`,
  }));

test('logs: pages with tokens, an empty one at the end, attempts one after the other; gone a week after the end', async () => {
  const clock = new FakeClock();
  await using world = await setUp(clock);
  const { server, submit, lease, runner, training } = world;
  const id = await submit('1');
  await lease();
  await runner.reportJob({ jobId: id, attempt: 1, runnerId: 'r1', logs: lines(1, 700) });
  await runner.reportJob({ jobId: id, attempt: 1, runnerId: 'r1', logs: lines(600, 500) });
  await lease(); // it returned: a new attempt
  await runner.reportJob({
    jobId: id,
    attempt: 2,
    runnerId: 'r1',
    logs: [{ sequence: 1n, message: 'second attempt' }],
  });
  const all = async () => {
    const pages: string[][] = [];
    for (let pageToken = ''; ;) {
      const page = await training.getTrainingJobLogs({ id, pageToken });
      pages.push(page.logs.map((line) => line.message));
      assert.equal(page.nextPageToken === '', page.logs.length === 0);
      pageToken = page.nextPageToken;
      if (pageToken === '') return pages;
    }
  };
  const pages = await all();
  assert.deepEqual(
    pages.map((page) => page.length),
    [500, 500, 101, 0],
  );
  assert.deepEqual(pages.flat(), [
    ...lines(1, 1099).map((line) => line.message),
    'Attempt 2 begins; what stands above is of an attempt that ended without a result.',
    'second attempt',
  ]);
  for (const pageToken of ['x', '====', 'bm90IG91cnM'])
    assert.equal(await outcome(training.getTrainingJobLogs({ id, pageToken })), '3 INVALID_ARGUMENT');

  await training.cancelTrainingJob({ id });
  await runner.confirmStop({ jobId: id, attempt: 2, runnerId: 'r1' });
  const logLifeMs = 7 * 24 * 3_600_000;
  assert.equal(await removeOldJobLogs(server.db, clock.wall(), 10_000), 0);
  await clock.advance(logLifeMs + 1);
  assert.equal(await removeOldJobLogs(server.db, clock.wall() - logLifeMs, 1_000), 1_000);
  assert.equal(await removeOldJobLogs(server.db, clock.wall() - logLifeMs, 1_000), 101);
  assert.deepEqual(await all(), [[]]);
});

test('advice of the server comes first in the log', async () => {
  await using server = await trainingServer();
  const datasetId = await datasetOf(server, { a: 10, b: 31 });
  const training = server.client(MLTrainingService, 'owner');
  const { id } = await training.submitTrainingJob(submission(server, datasetId, { tags: ['a', 'b', 'c'] }));
  const { logs } = await training.getTrainingJobLogs({ id });
  assert.deepEqual(
    logs.map((line) => line.message.slice(0, 24)),
    ['No image carries the lab', 'The most frequent label '],
  );
});
