import { errorTable, PlatformError } from '@platform/contract/errors/errors';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureOf } from './reconciler-state.ts';

const rows: [name: string, error: unknown, code: string, text: string][] = [
  [
    'a failure of the error table',
    new PlatformError('DOWNLOAD_FAILED', { problem: 'HTTP status 404' }),
    'DOWNLOAD_FAILED',
    'The download failed: HTTP status 404.',
  ],
  [
    'a failure of the system',
    new Error('EIO: i/o error, fsync'),
    'UPDATE_FAILED',
    'The update failed: EIO: i/o error, fsync.',
  ],
];
for (const [name, error, code, text] of rows)
  test(`${name} is a condition with a code of the error table and its remedy`, () => {
    const failure = failureOf(error, undefined, 5);
    assert.deepEqual([failure.code, failure.text, failure.sinceWall], [code, text, 5]);
    assert.equal(failure.remedy, errorTable[code as keyof typeof errorTable].remedy);
    assert.equal(failureOf(error, failure, 9).sinceWall, 5, 'the same failure keeps its start');
  });
