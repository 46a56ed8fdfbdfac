import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertNever, errorText, isAbort, retry, type RetryOptions } from '@platform/kit';
import { FakeClock } from '@platform/kit/testing';

async function times(fails: number, more: Partial<RetryOptions>, abortAt = Infinity) {
  const [clock, stop, at] = [new FakeClock(), new AbortController(), [] as number[]];
  const result = retry(
    async (attempt) => {
      at.push(clock.now());
      if (attempt <= fails) throw new Error(`attempt ${attempt}`);
      return 'well';
    },
    { clock, signal: stop.signal, isRetryable: () => true, random: () => 0.5, ...more },
  ).catch((error: unknown) => errorText(error));
  if (abortAt < Infinity) {
    await clock.advance(abortAt);
    stop.abort(new Error('stopped'));
  }
  await clock.advance(1e9);
  return { at, result: await result, pending: clock.pending };
}

const rows: [name: string, fails: number, more: Partial<RetryOptions>, at: number[], result: string][] = [
  ['first try', 0, {}, [0], 'well'],
  ['half of a doubling span', 3, { firstMs: 100 }, [0, 50, 150, 350], 'well'],
  ['the span has a limit', 4, { firstMs: 100, maxMs: 200 }, [0, 50, 150, 250, 350], 'well'],
  ['the last attempt gives its error', 9, { attempts: 2, firstMs: 100 }, [0, 50], 'attempt 2'],
  ['not retryable', 9, { isRetryable: () => false }, [0], 'attempt 1'],
  ['a wait that the error requests', 1, { isRetryable: () => ({ afterMs: 5000 }) }, [0, 5000], 'well'],
  [
    'a requested wait shorter than the jitter',
    1,
    { isRetryable: () => ({ afterMs: 10 }), firstMs: 100 },
    [0, 50],
    'well',
  ],
];
for (const [name, fails, more, at, result] of rows) {
  test(`retry: ${name}`, async () => assert.deepEqual(await times(fails, more), { at, result, pending: 0 }));
}

test('retry: the signal ends the wait, with its reason', async () => {
  assert.deepEqual(await times(9, { firstMs: 1000 }, 100), { at: [0], result: 'stopped', pending: 0 });
});

test('errorText names the message and each cause once', () => {
  const deep = new Error('cannot fetch', { cause: new Error('connect refused', { cause: 'port 9' }) });
  assert.equal(errorText(deep), 'cannot fetch: connect refused: port 9');
  assert.equal(errorText(new Error('a: b', { cause: new Error('b') })), 'a: b');
  assert.equal(errorText({ odd: 1 }), '{"odd":1}');
  assert.equal(errorText(undefined), 'undefined');
});

test('isAbort knows the error of an aborted signal', async () => {
  const signal = AbortSignal.abort();
  await fetch('http://127.0.0.1:1/', { signal }).then(
    () => assert.fail(),
    (error: unknown) => assert.equal(isAbort(error), true),
  );
  assert.equal(isAbort(new Error('x')), false);
});

test('assertNever names the unexpected value', () => {
  assert.throws(() => assertNever({ at: 'nowhere' } as never), /unexpected {"at":"nowhere"}/);
});
