import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backupProblem, msToNextBackup } from './next-backup.ts';

const hour = 3_600_000;
const everyMs = 24 * hour;
const now = Date.parse('2026-03-01T00:00:00Z');

for (const [name, last, failed, expected] of [
  ['without any backup: at once', undefined, undefined, 0],
  ['a day after the last', now - 10 * hour, undefined, 14 * hour],
  ['overdue, for example after a stop: at once', now - 50 * hour, undefined, 0],
  ['after a failure: an hour later', now - 50 * hour, now, hour],
  ['after a failure of the first: an hour later', undefined, now - 0.5 * hour, 0.5 * hour],
  ['a last backup in the future, because the clock jumped: at once', now + 900 * hour, undefined, 0],
  ['a failure in the future: at once', now - 50 * hour, now + 900 * hour, 0],
] as const)
  test(`next backup: ${name}`, () => assert.equal(msToNextBackup({ everyMs, last, failed, now }), expected));

for (const [name, last, error, expected] of [
  ['a recent one', now - hour, undefined, undefined],
  ['one that is being made late', now - 30 * hour, undefined, undefined],
  ['none since two intervals', now - 49 * hour, undefined, /more than twice the interval/],
  ['one of the future', now + 900 * hour, undefined, /in the future: the clock was wrong/],
  ['a failure', now - 30 * hour, 'disk full', /of 2026-02-27T18:00:00.000Z\. The last attempt failed: disk full/],
  ['a failure of the first', undefined, 'disk full', /no backup yet\. The last attempt failed/],
] as const)
  test(`problem of backups: ${name}`, () => {
    const problem = backupProblem({ everyMs, last, failed: undefined, now, error });
    if (expected === undefined) assert.equal(problem, undefined);
    else assert.match(problem ?? '', expected);
  });
