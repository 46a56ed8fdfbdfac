import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anyChanged, Cell } from '../src/cell.ts';

const never = new AbortController().signal;

test('the first change of any cell ends the wait, and no listener stays', async () => {
  const cells = [new Cell(0), new Cell(0), new Cell(0)];
  const listeners = () => cells.map((cell) => cell.listeners);
  const waiting = anyChanged(cells, never);
  assert.deepEqual(listeners(), [1, 1, 1]);
  cells[1]?.set(1);
  await waiting;
  assert.deepEqual(listeners(), [0, 0, 0]);
});

test('the signal ends the wait, before and during it', async () => {
  const cell = new Cell(0);
  const end = new AbortController();
  const waiting = anyChanged([cell], end.signal);
  end.abort();
  await waiting;
  await anyChanged([cell], end.signal);
  assert.equal(cell.listeners, 0);
});
