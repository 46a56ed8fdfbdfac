import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import { isEnded, type Job, type JobEvent, maxLosses, step, submitted } from './job-life.ts';

const own = { attempt: 2, runner: 'r1' };
const head = { attempt: 2, losses: 1, runner: 'r1' };
const pending: Job = { ...head, at: 'pending' };
const running: Job = { ...head, at: 'in_progress', leaseUntil: 1000, reported: true };
const unheard: Job = { ...running, reported: false };
const lastChance: Job = { ...running, losses: maxLosses - 1 };
const canceling: Job = { ...head, at: 'canceling', leaseUntil: 1000, reported: true };
const completed: Job = { ...head, at: 'completed' };
const failed: Job = { ...head, at: 'failed', failure: { cause: 'data', code: 'DATASET_EMPTY', message: '' } };
const canceled: Job = { ...head, at: 'canceled' };
const infrastructure = { cause: 'infrastructure', code: 'DISK_FULL', message: 'no space' } as const;
const canceledThere = { cause: 'infrastructure', code: 'ENGINE_JOB_CANCELED', message: '' } as const;
const stopped = { cause: 'infrastructure', code: 'RUNNER_STOPPED', message: '' } as const;
const data = { cause: 'data', code: 'DATASET_EMPTY', message: 'nothing decodes' } as const;

const rows: [name: string, from: Job, event: JobEvent, expected: string][] = [
  [
    'a new job is leased',
    submitted,
    { is: 'leased', runner: 'r1', leaseUntil: 9, isQueued: false },
    'in_progress 1/0 r1',
  ],
  [
    'a requeued job is leased by another',
    pending,
    { is: 'leased', runner: 'r2', leaseUntil: 9, isQueued: false },
    'in_progress 3/1 r2',
  ],
  [
    'a running job is not leased twice',
    running,
    { is: 'leased', runner: 'r2', leaseUntil: 9, isQueued: false },
    'LEASE_LOST',
  ],
  [
    'a canceled job is not leased',
    canceled,
    { is: 'leased', runner: 'r2', leaseUntil: 9, isQueued: false },
    'LEASE_LOST',
  ],

  ['cancel in the queue ends at once', pending, { is: 'canceled' }, 'canceled 2/1 r1'],
  ['cancel while it runs asks the runner', running, { is: 'canceled' }, 'canceling 2/1 r1'],
  ['cancel again is fine', canceling, { is: 'canceled' }, '='],
  ['cancel of a completed job', completed, { is: 'canceled' }, 'JOB_FINISHED'],
  ['cancel of a failed job', failed, { is: 'canceled' }, 'JOB_FINISHED'],
  ['cancel of a canceled job', canceled, { is: 'canceled' }, 'JOB_FINISHED'],

  ['a moment before the lease ends', running, { is: 'due', now: 999 }, '='],
  ['the lease ends', running, { is: 'due', now: 1000 }, 'pending 2/2 r1'],
  ['the lease ends for the third time', lastChance, { is: 'due', now: 1000 }, 'failed 2/3 r1 infrastructure'],
  ['the lease of a job being canceled ends', canceling, { is: 'due', now: 1000 }, 'canceled 2/1 r1'],
  ['a moment before, being canceled', canceling, { is: 'due', now: 999 }, '='],
  ['nothing is due in the queue', pending, { is: 'due', now: 1e15 }, '='],
  ['nothing is due after the end', completed, { is: 'due', now: 1e15 }, '='],

  ['far beyond its time', running, { is: 'overdue', ofAttempt: 2, message: 'too long' }, 'failed 2/1 r1 script'],
  ['far beyond its time, being canceled', canceling, { is: 'overdue', ofAttempt: 2, message: '' }, 'canceled 2/1 r1'],
  ['an earlier attempt was far beyond its time', running, { is: 'overdue', ofAttempt: 1, message: '' }, '='],
  ['far beyond its time, but it has ended', completed, { is: 'overdue', ofAttempt: 2, message: '' }, '='],

  ['a restarted runner asks for work', running, { is: 'returned', runner: 'r1' }, 'pending 2/2 r1'],
  ['the lease never arrived: handed out again', unheard, { is: 'returned', runner: 'r1' }, '='],
  ['another runner asks for work', running, { is: 'returned', runner: 'r2' }, '='],
  ['a restarted runner, being canceled', canceling, { is: 'returned', runner: 'r1' }, 'canceled 2/1 r1'],

  ['a report', running, { is: 'reported', ...own, leaseUntil: 2000 }, 'in_progress 2/1 r1'],
  ['a report while being canceled', canceling, { is: 'reported', ...own, leaseUntil: 2000 }, 'canceling 2/1 r1'],
  ['a report of an older attempt', running, { is: 'reported', attempt: 1, runner: 'r1', leaseUntil: 9 }, 'LEASE_LOST'],
  ['a report of another runner', running, { is: 'reported', attempt: 2, runner: 'r2', leaseUntil: 9 }, 'LEASE_LOST'],
  ['a report after the requeue', pending, { is: 'reported', ...own, leaseUntil: 9 }, 'LEASE_LOST'],
  ['a report after the end', completed, { is: 'reported', ...own, leaseUntil: 9 }, 'LEASE_LOST'],

  ['done', running, { is: 'completed', ...own }, 'completed 2/1 r1'],
  ['done, again', completed, { is: 'completed', ...own }, '='],
  ['done by an older attempt', running, { is: 'completed', attempt: 1, runner: 'r1' }, 'LEASE_LOST'],
  ['done after the lease was lost', pending, { is: 'completed', ...own }, 'LEASE_LOST'],
  ['done, but already canceled', canceling, { is: 'completed', ...own }, 'canceled 2/1 r1'],
  ['done after the cancel', canceled, { is: 'completed', ...own }, 'LEASE_LOST'],

  ['bad data is not tried again', running, { is: 'failed', ...own, failure: data, now: 0 }, 'failed 2/1 r1 data'],
  ['bad data, again', failed, { is: 'failed', ...own, failure: data, now: 0 }, '='],
  [
    'canceled by who runs the cluster: not tried again',
    running,
    { is: 'failed', ...own, failure: canceledThere, now: 0 },
    'failed 2/1 r1 infrastructure',
  ],
  [
    'a result that this server calls wrong: not tried again, whatever the runner says',
    running,
    { is: 'failed', ...own, failure: { ...infrastructure, code: 'INVALID_ARGUMENT' }, now: 0 },
    'failed 2/1 r1 infrastructure',
  ],
  ['a full disk is tried again', running, { is: 'failed', ...own, failure: infrastructure, now: 0 }, 'pending 2/2 r1'],
  ['a full disk, reported twice', pending, { is: 'failed', ...own, failure: infrastructure, now: 0 }, '='],
  [
    'a full disk, third time',
    lastChance,
    { is: 'failed', ...own, failure: infrastructure, now: 0 },
    'failed 2/3 r1 infrastructure',
  ],
  [
    'a runner shut down in order does not count as a loss',
    lastChance,
    { is: 'failed', ...own, failure: stopped, now: 0 },
    'pending 2/2 r1',
  ],
  ['a failure while being canceled', canceling, { is: 'failed', ...own, failure: data, now: 0 }, 'canceled 2/1 r1'],

  ['stopped as ordered', canceling, { is: 'stopped', ...own }, 'canceled 2/1 r1'],
  ['stopped as ordered, again', canceled, { is: 'stopped', ...own }, '='],
  ['stopped without an order', running, { is: 'stopped', ...own }, 'pending 2/2 r1'],
  ['stopped by an older attempt', canceling, { is: 'stopped', attempt: 1, runner: 'r1' }, 'LEASE_LOST'],
];

const show = (job: Job): string =>
  [job.at, `${job.attempt}/${job.losses}`, job.runner, job.at === 'failed' ? job.failure.cause : '']
    .filter(Boolean)
    .join(' ');

for (const [name, from, event, expected] of rows) {
  test(name, () => {
    const next = step(from, event);
    assert.equal(next.ok ? (next.changed ? show(next.job) : '=') : next.code, expected);
    if (next.ok && !next.changed) assert.deepEqual(next.job, from);
  });
}

test('a job pauses after a reported failure, not after a silent loss', () => {
  const rest = (losses: number, event: JobEvent): number | undefined => {
    const next = step({ ...running, losses }, event);
    return next.ok && next.job.at === 'pending' ? next.job.notBefore : Number.NaN;
  };
  const reported: JobEvent = { is: 'failed', ...own, failure: infrastructure, now: 500 };
  assert.deepEqual(
    [rest(0, reported), rest(1, reported), rest(0, { is: 'due', now: 1000 })],
    [5_500, 20_500, undefined],
  );
});

test('a lease never gets shorter', () => {
  const next = step(running, { is: 'reported', ...own, leaseUntil: 10 });
  assert.ok(next.ok && next.job.at === 'in_progress');
  assert.equal(next.job.leaseUntil, 1000);
});

test('whatever happens: an end is final, attempts only grow, losses stay below the limit, one runner holds a lease', () => {
  const random = seededRandom(7);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const ends = new Map<string, number>();
  for (let walk = 0; walk < 4000; walk++) {
    let job = submitted;
    let now = 0;
    for (let turn = 0; turn < 40; turn++) {
      now += Math.floor(random() * 20);
      const runner = pick(['r1', 'r2']);
      const attempt = pick([job.attempt, job.attempt, job.attempt, job.attempt - 1]);
      const event = pick<JobEvent>([
        { is: 'leased', runner, leaseUntil: now + 15, isQueued: false },
        { is: 'reported', runner, attempt, leaseUntil: now + 15 },
        { is: 'reported', runner, attempt, leaseUntil: now + 15 },
        { is: 'completed', runner, attempt },
        { is: 'failed', runner, attempt, failure: pick([data, infrastructure, stopped]), now },
        { is: 'canceled' },
        { is: 'stopped', runner, attempt },
        { is: 'due', now },
        { is: 'returned', runner },
      ]);
      const next = step(job, event);
      if (!next.ok) continue;
      if (isEnded(job)) assert.ok(!next.changed, `${show(job)} left by ${event.is}`);
      if (job.at === 'canceling' && next.changed) assert.ok(['canceling', 'canceled'].includes(next.job.at));
      if ('attempt' in event) assert.ok(event.attempt === job.attempt && event.runner === job.runner, 'not fenced');
      assert.ok(next.job.attempt >= job.attempt && next.job.losses >= job.losses);
      assert.ok(next.job.losses < maxLosses || next.job.at === 'failed');
      if (next.job.attempt > job.attempt) assert.ok(event.is === 'leased' && next.job.at === 'in_progress');
      job = next.job;
    }
    ends.set(job.at, (ends.get(job.at) ?? 0) + 1);
  }
  for (const end of ['completed', 'failed', 'canceled']) assert.ok((ends.get(end) ?? 0) > 50, `${end} is reached`);
});
