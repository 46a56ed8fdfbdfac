import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '@platform/kit/testing';
import { readinessOf, untilReady } from './ready.ts';

/** Runs with these answers in turn, repeating the last one; a minute passes. */
async function outcome(
  answers: readonly (readonly string[] | Error)[],
  publications: readonly (Error | undefined)[] = [],
) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const reported: string[] = [];
  const count = { looks: 0, published: 0 };
  const done = untilReady(
    {
      async publish() {
        const failed = publications[count.published++];
        if (failed) throw failed;
      },
      async look() {
        const answer = answers[Math.min(count.looks++, answers.length - 1)] ?? [];
        if (answer instanceof Error) throw answer;
        return { missing: [...answer], notices: ['a note'] };
      },
    },
    { clock, signal: stop.signal, say: (text) => reported.push(text) },
  );
  await clock.advance(60_000);
  stop.abort();
  const notices = await done;
  if (notices) assert.deepEqual(notices, ['a note']);
  return { isReady: notices !== undefined, reported, published: count.published };
}

test('ready at once: nothing is reported', async () =>
  assert.deepEqual(await outcome([[]]), { isReady: true, reported: [], published: 1 }));

test('ready after some tries: nothing is reported', async () =>
  assert.deepEqual(await outcome([['no runner is online'], ['no runner is online'], []]), {
    isReady: true,
    reported: [],
    published: 1,
  }));

test('what is missing is reported once, and tried again', async () =>
  assert.deepEqual(await outcome([['no runner is online']]), {
    isReady: false,
    reported: ['Not ready yet: no runner is online. It is tried again.'],
    published: 1,
  }));

test('a publication that fails is tried again, and then not any more', async () => {
  const failed = new Error('the disk is full');
  assert.deepEqual(await outcome([[]], [failed, failed, undefined]), { isReady: true, reported: [], published: 3 });
  const always = await outcome(
    [[]],
    Array.from({ length: 100 }, () => failed),
  );
  assert.deepEqual(always.reported, [
    'Not ready yet: machine server and agent are not released (the disk is full). It is tried again.',
  ]);
});

test('a server that does not answer is polled again', async () =>
  assert.deepEqual(await outcome([new Error('cannot be reached'), []]), { isReady: true, reported: [], published: 1 }));

test('the readiness page: a problem keeps every machine out, a notice is only reported', () => {
  assert.deepEqual(readinessOf('ok\n'), { missing: [], notices: [] });
  assert.deepEqual(
    readinessOf(
      'ok\nproblem: The certificate expired on 2026-01-01 00:00 UTC.\nnotice: No public authority issued it.\n',
    ),
    { missing: ['The certificate expired on 2026-01-01 00:00 UTC'], notices: ['No public authority issued it.'] },
  );
});
