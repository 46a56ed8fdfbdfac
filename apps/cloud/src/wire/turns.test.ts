import assert from 'node:assert/strict';
import test from 'node:test';
import { turns } from './turns.ts';

function stepped(atOnce: number) {
  const next: (() => void)[] = [];
  const ran: string[] = [];
  const { run } = turns(atOnce, (then) => void next.push(then));
  return {
    ran,
    add: (key: string, count: number, from = 1) => {
      for (let n = from; n < from + count; n++) run(key, () => void ran.push(`${key}${n}`));
    },
    turn: () => next.shift()?.(),
    waits: () => next.length,
  };
}

test('what one sends in one read is handled in turns, and others come in between', () => {
  const on = stepped(2);
  on.add('a', 6);
  assert.deepEqual(on.ran, ['a1', 'a2']);
  on.add('b', 2);
  on.turn();
  assert.deepEqual(on.ran.slice(2), ['a3', 'b1']);
  on.turn();
  assert.deepEqual(on.ran.slice(4), ['a4', 'b2']);
  on.turn();
  assert.deepEqual(on.ran.slice(6), ['a5', 'a6']);
});

test('few requests run at once, and an idle queue asks for no turn', () => {
  const on = stepped(2);
  on.add('a', 1);
  assert.deepEqual(on.ran, ['a1']);
  on.turn();
  assert.equal(on.waits(), 0);
  on.add('a', 2, 2);
  assert.deepEqual(on.ran, ['a1', 'a2', 'a3']);
});
