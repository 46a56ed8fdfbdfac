import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startFailureStatus } from '@platform/contract/releases/start-failure';
import { isHopeless } from './give-up.ts';

const rows: [string, Parameters<typeof isHopeless>[0], boolean][] = [
  ['it has not ended', { count: 0, status: undefined }, false],
  ['it threw once', { count: 1, status: 1 }, false],
  ['it threw twice', { count: 2, status: 1 }, true],
  ['its options are wrong', { count: 2, status: 2 }, true],
  ['its port was in use twice', { count: 2, status: startFailureStatus('PORT_IN_USE') }, false],
  ['its port was in use five times', { count: 5, status: startFailureStatus('PORT_IN_USE') }, true],
  ['the database did not answer', { count: 4, status: startFailureStatus('DATABASE_UNAVAILABLE') }, false],
  ['the schema is newer', { count: 2, status: startFailureStatus('DATA_DIR_NEWER') }, true],
  ['its ends were not seen', { count: 2, status: 0 }, false],
  ['it was killed twice', { count: 2, status: undefined }, false],
  ['it was killed five times', { count: 5, status: undefined }, true],
];
for (const [name, ends, wanted] of rows)
  test(`an upgrade gives up: ${name}: ${wanted}`, () => assert.equal(isHopeless(ends), wanted));
