import assert from 'node:assert/strict';
import test from 'node:test';
import { hasRoom, type Held } from './organization-room.ts';

const rows: readonly [name: string, held: Held, more: number, limit: number, fits: boolean][] = [
  ['no limit', { used: 1e15, waiting: 1e15, arriving: 1e15 }, 1e15, 0, true],
  ['up to the last byte', { used: 60, waiting: 0, arriving: 0 }, 40, 100, true],
  ['one byte more', { used: 60, waiting: 0, arriving: 0 }, 41, 100, false],
  ['what arrives counts', { used: 60, waiting: 0, arriving: 30 }, 11, 100, false],
  ['deleted files leave room', { used: 0, waiting: 100, arriving: 0 }, 100, 100, true],
  ['as many deleted files as the limit', { used: 60, waiting: 100, arriving: 0 }, 40, 100, true],
  ['deleted and sent again and again', { used: 60, waiting: 101, arriving: 0 }, 40, 100, false],
  ['nothing more, when the limit was lowered', { used: 200, waiting: 0, arriving: 0 }, 0, 100, false],
  ['nothing more, when it is full', { used: 100, waiting: 0, arriving: 0 }, 0, 100, true],
];
for (const [name, held, more, limit, fits] of rows)
  test(`room of an organization: ${name}`, () => assert.equal(hasRoom(held, more, limit), fits));
