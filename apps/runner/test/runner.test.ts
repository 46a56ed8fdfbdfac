/** Whole stories: the runner's loop, a small server over real HTTP, trainers as real processes. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createConnectTransport } from '@connectrpc/connect-web';
import { PlatformError } from '@platform/contract/errors/errors';
import { Secret } from '@platform/kit';
import { plainEnvironment, isAlive, processStartTime, systemClock } from '@platform/kit/node';
import { captureLog, tempFolder } from '@platform/kit/testing';
import { connectBlobs } from '../src/cloud/blobs.ts';
import { connectQueue } from '../src/cloud/queue.ts';
import { openSession } from '../src/cloud/session.ts';
import { imageCache } from '../src/job/cache.ts';
import { checkpointStore } from '../src/job/checkpoints.ts';
import { localCapabilities } from '../src/local-capabilities.ts';
import { runRunner } from '../src/run-runner.ts';
import { trainerEnv } from '../src/trainer/environment.ts';
import { QueueServer, type QueuedJob } from './queue-server.ts';

const fakeTrainer = fileURLToPath(new URL('fake-trainer.mjs', import.meta.url));
const trainers = { single_label_classification: fakeTrainer };

interface Stage extends AsyncDisposable {
  server: QueueServer;
  root: string;
  log(): string;
  /** Rejects when the runner gives up. */
  running: Promise<void>;
  /** Ends the runner as SIGTERM would. */
  shutDown(): Promise<void>;
  /** As SIGUSR2 would. */
  drain(): void;
}
async function stage(key = 'key', graceMs = 5_000, jobs = 1, own = process.env): Promise<Stage> {
  const folder = await tempFolder();
  const server = new QueueServer();
  const url = await server.start();
  const clock = systemClock;
  const { log, text } = captureLog(clock);
  const transport = createConnectTransport({ baseUrl: url, useBinaryFormat: true });
  const session = openSession(transport, { id: 'key-id', key: new Secret(key) }, clock);
  const stop = new AbortController();
  const drain = new AbortController();
  const running = runRunner(
    {
      root: folder.path,
      queue: connectQueue(transport, session, 'runner-1', clock),
      blobs: connectBlobs(url, session),
      cache: imageCache(folder.file('cache'), 2 ** 20, () => clock.wall()),
      trainerNice: 10,
      checkpoints: checkpointStore(folder.file('checkpoints'), () => clock.wall()),
      trainers,
      offer: localCapabilities(trainers, '0.0.0'),
      scripts: undefined,
      isolation: { because: 'bubblewrap is missing.' },
      graceMs,
      keepJobs: false,
      env: trainerEnv(own),
      clock,
      log,
    },
    { stop: stop.signal, drain: drain.signal, jobs },
  );
  running.catch(() => {});
  const shutDown = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return {
    server,
    root: folder.path,
    log: text,
    running,
    shutDown,
    drain: () => drain.abort(),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running.catch(() => {});
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}
const hasBegun = (job: QueuedJob): boolean => job.logs.some(({ message }) => message.startsWith('pid '));
function trainerOf(job: QueuedJob): { pid: number; startTime: string } {
  const pid = Number(job.logs.find(({ message }) => message.startsWith('pid '))?.message.slice(4));
  return { pid, startTime: processStartTime(pid) ?? '' };
}

test('a job is leased, trained, reported and published; nothing is left of its folder', async () => {
  await using s = await stage();
  const job = s.server.submit();
  await s.server.until('completed', () => job.state === 'completed');
  const sizes = job.files.map(
    ({ path, size }) =>
      `${path} ${s.server.blobs.get(job.files.find((f) => f.path === path)?.sha256 ?? '')?.length === size}`,
  );
  assert.deepEqual(sizes, ['env.json true', 'evaluation.json true', 'm.onnx true', 'more/labels.txt true']);
  const model = job.files.find(({ path }) => path === 'm.onnx')?.sha256 ?? '';
  assert.equal(s.server.blobs.get(model)?.toString(), 'image 0|image 1|image 2');
  assert.deepEqual(job.evaluation, { accuracy: 0.75, attempt: 1 });
  assert.deepEqual(job.metrics, [{ epoch: 1, stage: 'probe', loss: 0.25 }]);
  const lines = job.logs.map(({ level, message }) => `${level} ${message}`);
  for (const line of ['info begun', 'info a line on stdout', 'error a line on stderr', 'warn Skipped one.']) {
    assert.ok(lines.includes(line), `${line} in ${lines.join('; ')}`);
  }
  assert.ok(Math.max(...job.progress) > 0.9 && job.phases.has('uploading'));
  const env = s.server.blobs.get(job.files.find(({ path }) => path === 'env.json')?.sha256 ?? '')?.toString() ?? '';
  assert.ok(env.includes('PLATFORM_JOB_ID') && !env.includes('PLATFORM_API_KEY'));
  await s.shutDown();
  assert.deepEqual(await readdir(`${s.root}/jobs`), []);
});

test('files with names that no model version may have are left out with a line each; the rest is published', async () => {
  await using s = await stage();
  const job = s.server.submit({ arguments: { act: 'misname' } });
  await s.server.until('the end', () => job.state !== 'pending' && job.state !== 'in_progress');
  assert.deepEqual([job.state, job.attempt], ['completed', 1], job.failure?.message);
  assert.deepEqual(
    job.files.map(({ path }) => path),
    ['env.json', 'evaluation.json', 'm.onnx', 'more/labels.txt'],
  );
  const lines = job.logs.filter(({ level }) => level === 'warn').map(({ message }) => message);
  for (const line of [
    /^Left out of the result: "a:b" has a name that has a colon/,
    /^Left out of the result: "x{119}…" has a name that has 201 characters; the limit is 200\.$/,
    /^Left out of the result: "run:1" /,
    /^Left out of the result: "turned\\u202etxt\.exe" /,
  ]) {
    assert.ok(
      lines.some((message) => line.test(message)),
      `${line} in ${lines.join('; ')}`,
    );
  }
});

test('a result that the server calls wrong fails the job at once, with the reason', async () => {
  await using s = await stage();
  const problem = { field: 'files[0].path', value: 'x', limit: 'it is wrong' };
  s.server.refusal = new PlatformError('INVALID_ARGUMENT', problem);
  const job = s.server.submit();
  await s.server.until('the end', () => job.state === 'failed');
  assert.deepEqual([job.attempt, job.failure?.cause, job.failure?.code], [1, 'data', 'INVALID_ARGUMENT']);
  assert.match(job.failure?.message ?? '', /files\[0\]\.path/);
});

for (const where of ['file', 'package'] as const) {
  test(`a result whose ${where} finds no room fails the job at once, and says so`, async () => {
    await using s = await stage();
    const sizes = { organizationId: 'o', sizeBytes: 10, usedBytes: 95, limitBytes: 100 };
    const error = new PlatformError('ORGANIZATION_FULL', sizes);
    if (where === 'file') s.server.noRoom = error;
    else s.server.refusal = error;
    const job = s.server.submit();
    await s.server.until('the end', () => job.state === 'failed');
    assert.deepEqual([job.attempt, job.failure?.cause, job.failure?.code], [1, 'data', 'ORGANIZATION_FULL']);
    assert.match(
      job.failure?.message ?? '',
      /cannot store 10 more bytes: 95 of 100 bytes are used.*Delete unused images/,
    );
  });
}

test('a second job with the same images downloads its manifest alone', async () => {
  await using s = await stage();
  const first = s.server.submit();
  await s.server.until('completed', () => first.state === 'completed');
  s.server.downloads.length = 0;
  const second = s.server.submit();
  await s.server.until('completed', () => second.state === 'completed');
  assert.deepEqual(s.server.downloads, [second.manifestSha256]);
});

const failures: [string, Parameters<QueueServer['submit']>[0], string, string, RegExp][] = [
  ['bad data', { arguments: { act: 'bad' } }, 'data', 'TOO_FEW_LABELS', /at least 2 labels/],
  [
    'a crash, with the end of its output',
    { arguments: { act: 'crash' } },
    'infrastructure',
    'TRAINER_FAILED',
    /code 3:\nfirst line\nlast line/,
  ],
  ['no output', { arguments: { act: 'nothing' } }, 'script', 'TRAINER_FAILED', /no file in its output/],
  [
    'too little memory',
    { arguments: { act: 'grow' }, limits: { wall_seconds: 60, memory_mib: 200, disk_mib: 10 } },
    'infrastructure',
    'OUT_OF_MEMORY',
    /its limit is 200 MiB/,
  ],
  [
    'too little time',
    { arguments: { act: 'obey' }, limits: { wall_seconds: 1, memory_mib: 2000, disk_mib: 10 } },
    'script',
    'TRAINING_TIMED_OUT',
    /limit of 1 s/,
  ],
  ['a model name that is a path', { model_name: '../m' }, 'data', 'INVALID_ARGUMENT', /model_name/],
];
for (const [name, change, cause, code, message] of failures) {
  test(`a failure is reported with its cause: ${name}`, async () => {
    await using s = await stage();
    const job = s.server.submit(change);
    await s.server.until('failed', () => job.state === 'failed');
    assert.deepEqual([job.failure?.cause, job.failure?.code], [cause, code]);
    assert.match(job.failure?.message ?? '', message);
  });
}

test('an image that the server lost, and one with other bytes, do not count as failures of the data', async () => {
  for (const bytes of [undefined, Buffer.from('other')]) {
    await using s = await stage();
    s.server.outages.set('lease', 1);
    const job = s.server.submit();
    const [image = ''] = [...s.server.blobs.keys()];
    if (bytes) s.server.blobs.set(image, bytes);
    else s.server.blobs.delete(image);
    await s.server.until('failed', () => job.state === 'failed');
    assert.equal(job.failure?.cause, 'infrastructure');
    assert.deepEqual(
      (await readdir(`${s.root}/cache`, { recursive: true })).filter((name) => name.endsWith('.part')),
      [],
    );
  }
});

test('canceled while it trains: the trainer ends by itself, and the stop is confirmed', async () => {
  await using s = await stage();
  const job = s.server.submit({ arguments: { act: 'obey' } });
  await s.server.until('begun', () => hasBegun(job));
  const trainer = trainerOf(job);
  s.server.cancel(job);
  await s.server.until('canceled', () => job.state === 'canceled');
  assert.equal(isAlive(trainer), false);
  assert.deepEqual(
    s.server.calls.filter((call) => call !== 'authenticate'),
    ['lease job-1#1', 'confirmStop job-1#1'],
  );
});

test('a trainer that does not listen is killed after its grace', async () => {
  await using s = await stage('key', 300);
  const job = s.server.submit({ arguments: { act: 'deaf' } });
  await s.server.until('begun', () => hasBegun(job));
  const trainer = trainerOf(job);
  s.server.cancel(job);
  await s.server.until('canceled', () => job.state === 'canceled');
  assert.equal(isAlive(trainer), false);
});

test('a lost lease ends the trainer without a word, and the next job is taken', async () => {
  await using s = await stage();
  const job = s.server.submit({ arguments: { act: 'hang' } });
  await s.server.until('begun', () => hasBegun(job));
  const trainer = trainerOf(job);
  s.server.takeAway(job);
  const next = s.server.submit();
  await s.server.until('next completed', () => next.state === 'completed');
  assert.equal(isAlive(trainer), false);
  assert.deepEqual(
    s.server.calls.filter((call) => call !== 'authenticate'),
    ['lease job-1#1', 'lease job-2#1', 'complete job-2#1'],
  );
});

test('shut down: the trainer ends and the job goes back as a failure of the infrastructure', async () => {
  await using s = await stage();
  const job = s.server.submit({ arguments: { act: 'hang' } });
  await s.server.until('begun', () => hasBegun(job));
  const trainer = trainerOf(job);
  await s.shutDown();
  assert.equal(isAlive(trainer), false);
  assert.deepEqual(job.failure, {
    cause: 'infrastructure',
    code: 'RUNNER_STOPPED',
    message: 'The runner was shut down while it ran the job.',
  });
});

test('a server that is away for a while costs nothing: calls are made again, one new token is fetched', async () => {
  await using s = await stage();
  for (const call of ['lease', 'GET', 'report', 'PUT', 'complete']) s.server.outages.set(call, 1);
  s.server.token = 'token-2';
  const job = s.server.submit();
  await s.server.until('completed', () => job.state === 'completed');
  assert.equal(job.attempt, 1);
  assert.equal(new Set(job.metrics.map((one) => JSON.stringify(one))).size, 1);
});

test('a server that is away when the job ends hears its last lines when it is back', async () => {
  await using s = await stage();
  s.server.outages.set('report', 5);
  const job = s.server.submit();
  await s.server.until('completed', () => job.state === 'completed');
  assert.ok(job.logs.some(({ message }) => message === 'a line on stderr'));
  assert.ok(job.phases.has('uploading'));
});

test('a wrong key ends the runner with the reason', async () => {
  await using s = await stage('wrong');
  await assert.rejects(s.running, /unauthenticated/i);
});

test('drained: the present job is finished, and no other one is taken', async () => {
  await using s = await stage();
  const job = s.server.submit({ arguments: { act: 'obey' } });
  await s.server.until('begun', () => hasBegun(job));
  const next = s.server.submit();
  s.drain();
  s.server.cancel(job);
  await s.running;
  assert.deepEqual([job.state, next.state], ['canceled', 'pending']);
});

test('drained while it waits for work: it ends at once', async () => {
  await using s = await stage();
  await s.server.until('asked for work', () => s.server.offers.length > 0);
  s.drain();
  await s.running;
});

test('two jobs at a time: both run, the third waits, and no call for more takes one away', async () => {
  await using s = await stage('key', 5_000, 2);
  const jobs = ['obey', 'obey', 'succeed'].map((act) => s.server.submit({ arguments: { act } }));
  const [first, second, third] = jobs as [QueuedJob, QueuedJob, QueuedJob];
  await s.server.until('both begun', () => hasBegun(first) && hasBegun(second));
  assert.equal(third.state, 'pending');
  s.server.cancel(first);
  await s.server.until('the third is done', () => third.state === 'completed');
  assert.deepEqual([first.state, second.state, second.attempt], ['canceled', 'in_progress', 1]);
  s.server.cancel(second);
  await s.server.until('the second is over', () => second.state === 'canceled');
});

test('two jobs at a time that ask for a GPU get one each; the next one gets what came back', async () => {
  await using s = await stage('key', 5_000, 2, plainEnvironment({ CUDA_VISIBLE_DEVICES: '4,7' }));
  const limits = { wall_seconds: 60, memory_mib: 512, disk_mib: 64, gpus: 1 };
  const jobs = [1, 2, 3].map(() => s.server.submit({ arguments: { act: 'obey' }, limits }));
  const [first, second, third] = jobs as [QueuedJob, QueuedJob, QueuedJob];
  const gpu = (job: QueuedJob): string | undefined =>
    job.logs.find(({ message }) => message.startsWith('gpu '))?.message;
  await s.server.until('both begun', () => gpu(first) !== undefined && gpu(second) !== undefined);
  assert.deepEqual([gpu(first), gpu(second)].toSorted(), ['gpu 4', 'gpu 7']);
  s.server.cancel(first);
  await s.server.until('the third has begun', () => gpu(third) !== undefined);
  assert.equal(gpu(third), gpu(first));
  s.server.cancel(second);
  s.server.cancel(third);
  await s.server.until('all are over', () => second.state === 'canceled' && third.state === 'canceled');
});
