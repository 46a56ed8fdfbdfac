import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Inbox, run, type StateMachine } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';

type State = { at: 'off' } | { at: 'on'; until: number };
type Event = { is: 'press' } | { is: 'lit'; ok: boolean } | { is: 'noop' };
type Effect = { do: 'light' } | { do: 'dark' };

function start(perform: (effect: Effect, say: (line: string) => void, clock: FakeClock) => Promise<Event | void>) {
  const [clock, inbox, stop, lines] = [new FakeClock(), new Inbox<Event>(), new AbortController(), [] as string[]];
  const machine: StateMachine<State, Event, Effect> = {
    initial: { at: 'off' },
    deadline: (s) => (s.at === 'on' ? s.until : Infinity),
    step: (s, e, now) => {
      lines.push(`${now} step ${s.at} ${e.is}`);
      if (e.is === 'press' && s.at === 'off')
        return { state: { at: 'on', until: now + 100 }, effects: [{ do: 'light' }, { do: 'dark' }] };
      if (e.is === 'due') return { state: { at: 'off' }, effects: [{ do: 'dark' }] };
      return { state: s, effects: [] };
    },
    perform: (f) => perform(f, (line) => lines.push(`${clock.now()} ${line}`), clock),
  };
  const { log, text } = captureLog(clock);
  const done = run(machine, inbox, (s) => lines.push(`${clock.now()} publish ${s.at}`), { clock, log }, stop.signal);
  return { clock, inbox, stop, lines, text, done };
}

test('publishes before effects; effects one by one, over steps too; answers are events; due comes at the deadline', async () => {
  const { clock, inbox, stop, lines, text, done } = start(async (f, say, time) => {
    say(`${f.do} begins`);
    await time.sleep(150);
    say(`${f.do} ends`);
    return f.do === 'light' ? { is: 'lit', ok: true } : undefined;
  });
  inbox.push({ is: 'press' });
  await clock.advance(1000);
  assert.deepEqual(lines, [
    '0 step off press',
    '0 publish on',
    '0 light begins',
    '100 step on due',
    '100 publish off',
    '150 light ends',
    '150 dark begins',
    '150 step off lit',
    '150 publish off',
    '300 dark ends',
    '300 dark begins',
    '450 dark ends',
  ]);
  assert.equal(
    text(),
    'info test state {"from":"off","to":"on","because":{"is":"press"},"effects":[{"do":"light"},{"do":"dark"}]}\n' +
      'info test state {"from":"on","to":"off","because":{"is":"due"},"effects":[{"do":"dark"}]}\n' +
      'debug test pass {"observed":{"is":"lit","ok":true},"at":"off","did":[]}',
  );
  stop.abort();
  await done;
  assert.equal(clock.pending, 0);
});

test('the end waits for the effect under way, drops those not begun, and takes no more events', async () => {
  const { clock, inbox, stop, lines, done } = start(async (f, say, time) => {
    say(`${f.do} begins`);
    await time.sleep(50);
    say(`${f.do} ends`);
  });
  inbox.push({ is: 'press' });
  await clock.advance(10);
  stop.abort();
  inbox.push({ is: 'noop' });
  await clock.advance(1000);
  await done;
  assert.deepEqual(lines.slice(2), ['0 light begins', '50 light ends']);
  assert.equal(clock.pending, 0);
});

test('an effect that throws is a bug: the machine ends with it', async () => {
  const { clock, inbox, done } = start(async () => {
    throw new Error('broken lamp');
  });
  inbox.push({ is: 'press' });
  await assert.rejects(done, /broken lamp/);
  assert.equal(clock.pending, 0);
});
