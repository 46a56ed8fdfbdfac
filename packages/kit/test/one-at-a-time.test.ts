import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneAtATime } from '../src/one-at-a-time.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('work begins when the one before it has ended, also after a failure, and gets nothing of it', async () => {
  const inTurn = oneAtATime();
  const seen: unknown[] = [];
  const work =
    (name: string) =>
    async (...given: unknown[]): Promise<string> => {
      seen.push(`${name} begins`, ...given);
      await turn();
      seen.push(`${name} ends`);
      return name;
    };
  const first = inTurn(work('a'));
  const failing = inTurn(async () => {
    throw new Error('b');
  });
  const last = inTurn(work('c'));
  await assert.rejects(failing, /b/);
  assert.deepEqual([await first, await last], ['a', 'c']);
  assert.deepEqual(seen, ['a begins', 'a ends', 'c begins', 'c ends']);
});

test('a failure that its caller ignores ends no process', async () => {
  const inTurn = oneAtATime();
  void inTurn(() => Promise.reject(new Error('ignored')));
  for (let n = 0; n < 3; n++) await turn(); // an unhandled rejection would fail this test
  assert.equal(await inTurn(async () => 'next'), 'next');
});
