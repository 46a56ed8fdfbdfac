import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { PlatformError, type ErrorCode } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import { SimulatedSlurm } from '../../../test/simulated-slurm.ts';
import type { EngineJob, EngineStatus } from '../engine.ts';
import { errorsOf, isRefusal, jobsOf, newestShape, shapes, statusOf, type SubmitRequest } from './shapes.ts';
import { batchScript, slurmEngine, type SlurmSettings } from './slurm.ts';
import { tokenFile } from './tokens.ts';

const signal = new AbortController().signal;
const job: EngineJob = {
  key: 'platform-j-1',
  mayExist: false,
  about: 'Training of m 1,\njob j',
  order: '{"it’s":"$HOME `id` \\"quoted\\""}',
  limits: { wall_seconds: 60, memory_mib: 1000, disk_mib: 10 },
};
const settings = (slurm: SimulatedSlurm, change: Partial<SlurmSettings> = {}): SlurmSettings => ({
  url: slurm.url,
  user: 'trainer',
  tokens: tokenFile(slurm.tokenFile),
  cpus: 2,
  extraMemoryMib: 100,
  extraSeconds: 60,
  output: '/dev/null',
  command: 'cat',
  environment: { PATH: '/usr/bin:/bin' },
  clock: systemClock,
  ...change,
});
const coded =
  (code: ErrorCode, text: RegExp) =>
  (error: unknown): boolean =>
    error instanceof PlatformError && error.code === code && text.test(error.message);

test('a submit whose answer was lost is found again by its name', async () => {
  await using slurm = await SimulatedSlurm.start();
  const engine = slurmEngine(settings(slurm));
  await slurm.pause();
  slurm.unanswered = 1;
  await assert.rejects(engine.submit(job, signal), coded('ENGINE_UNREACHABLE', /socket hang up|ECONNRESET/));
  assert.equal(await engine.submit({ ...job, mayExist: true }, signal), '1');
  assert.equal((await slurm.jobs()).length, 1);
  assert.deepEqual(await engine.status('1', signal), { at: 'pending', why: 'PartitionDown', isStuck: false });
});

test('an expired token is a transient failure: the file is read again', async () => {
  await using slurm = await SimulatedSlurm.start();
  const engine = slurmEngine(settings(slurm));
  const ref = await engine.submit(job, signal);
  const tokens = tokenFile(slurm.tokenFile);
  assert.equal((await tokens.get(signal)).reveal(), 'token-1');
  slurm.token = 'token-2';
  await assert.rejects(
    engine.status(ref, signal),
    coded('ENGINE_UNREACHABLE', /token is not valid, or not of user trainer/),
  );
  await slurm.renew('token-2');
  assert.notEqual((await engine.status(ref, signal)).at, 'absent');
  const none = slurmEngine(settings(slurm, { tokens: tokenFile('/nowhere') }));
  await assert.rejects(none.status(ref, signal), coded('ENGINE_UNREACHABLE', /no token: .*nowhere/));
});

test('unknown jobs: no status, and nothing to cancel', async () => {
  await using slurm = await SimulatedSlurm.start();
  const engine = slurmEngine(settings(slurm));
  assert.deepEqual(await engine.status('99', signal), { at: 'absent' });
  await engine.cancel('99', signal);
  const ref = await engine.submit(job, signal);
  slurm.forgetAll();
  assert.deepEqual(await engine.status(ref, signal), { at: 'absent' });
});

test('an API that this runner does not speak is refused with both lists; a later one is found after an upgrade', async () => {
  await using slurm = await SimulatedSlurm.start();
  slurm.versions = ['v0.0.36', 'v0.0.37'];
  const engine = slurmEngine(settings(slurm));
  await assert.rejects(engine.submit(job, signal), coded('ENGINE_REFUSED', /speaks v0\.0\.36, v0\.0\.37.*v0\.0\.43/));
  slurm.versions = ['v0.0.38'];
  assert.equal(await engine.submit(job, signal), '1');
  slurm.versions = ['v0.0.38', 'v0.0.40'];
  assert.equal(
    newestShape({ paths: { '/slurm/v0.0.38/job/submit': {}, '/slurm/v0.0.40/job/submit': {} } }).shape?.version,
    'v0.0.40',
  );
});

test('the batch script hands the order over unchanged, and does nothing when Slurm starts it again', () => {
  const run = (env: Record<string, string>) =>
    spawnSync('bash', ['-c', batchScript('cat', job)], { encoding: 'utf8', env: { PATH: '/usr/bin:/bin', ...env } });
  const first = run({});
  assert.deepEqual([first.status, first.stdout], [0, `${job.order}\n`]);
  assert.equal(run({ SLURM_RESTART_COUNT: '0' }).status, 0);
  const again = run({ SLURM_RESTART_COUNT: '1' });
  assert.deepEqual([again.status, again.stdout], [75, '']);
});

const request: SubmitRequest = {
  name: 'n',
  comment: 'c',
  script: 's',
  partition: 'p',
  account: undefined,
  cpus: 2,
  memoryMib: 1100,
  minutes: 2,
  gpus: 1,
  output: '/dev/null',
  environment: { PATH: '/bin' },
};
const same = {
  name: 'n',
  comment: 'c',
  tasks: 1,
  cpus_per_task: 2,
  current_working_directory: '/tmp',
  standard_output: '/dev/null',
  partition: 'p',
};
const set = (number: number): object => ({ set: true, infinite: false, number });
const later = {
  ...same,
  environment: ['PATH=/bin'],
  memory_per_node: set(1100),
  time_limit: set(2),
  requeue: false,
  tres_per_node: 'gres/gpu:1',
};
const bodies: [version: string, body: object][] = [
  [
    'v0.0.38',
    {
      script: 's',
      job: {
        ...same,
        environment: { PATH: '/bin' },
        memory_per_node: 1100,
        time_limit: 2,
        no_requeue: true,
        gres: 'gpu:1',
      },
    },
  ],
  ['v0.0.40', { script: 's', job: later }],
  ['v0.0.42', { job: { ...later, script: 's' } }],
];
for (const [version, body] of bodies) {
  test(`a submit in the shape of ${version}`, () => {
    assert.deepEqual(shapes.find((shape) => shape.version === version)?.submitBody(request), body);
  });
}

const lost = (word: string): EngineStatus => ({ at: 'ended', how: { is: 'lost', word } });
const statuses: [answer: object, status: EngineStatus][] = [
  [
    { job_state: 'PENDING', state_reason: 'Priority' },
    { at: 'pending', why: 'Priority', isStuck: false },
  ],
  [
    { job_state: 'PENDING', state_reason: 'None', state_description: '' },
    { at: 'pending', why: '', isStuck: false },
  ],
  [
    { job_state: 'PENDING', state_reason: 'PartitionTimeLimit' },
    { at: 'pending', why: 'PartitionTimeLimit', isStuck: true },
  ],
  [{ job_state: 'CONFIGURING' }, { at: 'pending', why: '', isStuck: false }],
  [{ job_state: 'RUNNING' }, { at: 'running' }],
  [{ job_state: 'SUSPENDED' }, { at: 'running' }],
  [{ job_state: 'COMPLETING' }, { at: 'running' }],
  [
    { job_state: 'COMPLETED', exit_code: 0 },
    { at: 'ended', how: { is: 'succeeded' } },
  ],
  [
    { job_state: 'CANCELLED', exit_code: 36608 },
    { at: 'ended', how: { is: 'canceled' } },
  ],
  [
    { job_state: 'FAILED', exit_code: 768 },
    { at: 'ended', how: { is: 'exited', code: 3 } },
  ],
  [
    { job_state: 'FAILED', exit_code: 9 },
    { at: 'ended', how: { is: 'killed', signal: 9 } },
  ],
  [{ job_state: 'TIMEOUT' }, { at: 'ended', how: { is: 'timedOut' } }],
  [{ job_state: 'DEADLINE' }, { at: 'ended', how: { is: 'timedOut' } }],
  [{ job_state: 'OUT_OF_MEMORY' }, { at: 'ended', how: { is: 'outOfMemory' } }],
  [{ job_state: 'NODE_FAIL' }, lost('NODE_FAIL')],
  [{ job_state: 'PREEMPTED' }, lost('PREEMPTED')],
  [{ job_state: 'PENDING', restart_cnt: 1 }, lost('put back into the queue of Slurm')],
  [{ job_state: 'SOMETHING_NEW' }, lost('SOMETHING_NEW')],
  // Format since v0.0.40.
  [
    { job_state: ['PENDING'], state_reason: 'Resources' },
    { at: 'pending', why: 'Resources', isStuck: false },
  ],
  [{ job_state: ['COMPLETED', 'COMPLETING'] }, { at: 'running' }],
  [
    {
      job_state: ['FAILED'],
      exit_code: {
        status: ['ERROR'],
        return_code: set(4),
        signal: { id: { set: false, infinite: false, number: 0 }, name: '' },
      },
    },
    { at: 'ended', how: { is: 'exited', code: 4 } },
  ],
];
for (const [answer, status] of statuses) {
  test(`the state of ${JSON.stringify(answer)}`, () => {
    const [found] = jobsOf({ jobs: [{ job_id: 7, name: 'n', ...answer }] });
    assert.ok(found);
    assert.deepEqual(statusOf(found), status);
  });
}

test('errors: refusals are distinguished from communication failures; strange answers have none', () => {
  const of = (error: object): boolean[] => errorsOf({ errors: [error] }).map(isRefusal);
  assert.deepEqual(of({ error_code: 2014, error: 'Requested node configuration is not available' }), [true]);
  assert.deepEqual(of({ error_number: -1, error: 'Unspecified error', description: 'Unable to find JobId=4' }), [
    false,
  ]);
  assert.deepEqual(of({ error_number: 1803, error: 'Unable to contact slurm controller (connect failure)' }), [false]);
  for (const strange of [undefined, null, 7, 'text', [], { errors: 3 }, { jobs: {} }, { jobs: [null, 3, {}] }]) {
    assert.deepEqual([errorsOf(strange), jobsOf(strange)], [[], []]);
  }
});
