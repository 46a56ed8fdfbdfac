import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline, step, waitingAt, type KeptEvent, type KeptLimits, type KeptState } from './kept-agent.ts';

const limits: KeptLimits = { ready: 90, watchdog: 60, pause: 5, stop: 180, kill: 10 };
const starting: KeptState = { at: 'starting', since: 100 };
const running: KeptState = { at: 'running', heard: 100 };
const asked: KeptState = { at: 'stopping', since: 100, isKilled: false, next: 'end' };
const killed: KeptState = { at: 'stopping', since: 100, isKilled: true, next: 'start' };
const waiting: KeptState = { at: 'waiting', until: 105 };

const rows: [string, KeptState, KeptEvent, number, KeptState, string][] = [
  ['the first start is due at once', waitingAt(7), { is: 'due' }, 7, { at: 'starting', since: 7 }, 'start'],
  ['ready', starting, { is: 'ready' }, 120, { at: 'running', heard: 120 }, ''],
  ['a sign of life before it is ready does not make it so', starting, { is: 'alive' }, 120, starting, ''],
  ['never ready: killed', starting, { is: 'due' }, 190, { ...killed, since: 190 }, 'kill'],
  ['a late timer', starting, { is: 'due' }, 189, starting, ''],
  ['it cannot be started', starting, { is: 'notStarted', error: 'x' }, 110, { at: 'waiting', until: 115 }, ''],
  ['a crash', running, { is: 'exited' }, 110, { at: 'waiting', until: 115 }, ''],
  ['a sign of life', running, { is: 'alive' }, 150, { at: 'running', heard: 150 }, ''],
  ['no sign of life: killed', running, { is: 'due' }, 160, { ...killed, since: 160 }, 'kill'],
  ['asked to stop', running, { is: 'stop' }, 110, { ...asked, since: 110 }, 'ask'],
  ['asked to stop while it starts', starting, { is: 'stop' }, 110, { ...asked, since: 110 }, 'ask'],
  ['asked to stop while nothing runs', waiting, { is: 'stop' }, 101, { at: 'ended' }, ''],
  ['stopped as asked', asked, { is: 'exited' }, 110, { at: 'ended' }, ''],
  ['it does not stop: killed', asked, { is: 'due' }, 280, { ...asked, since: 280, isKilled: true }, 'kill'],
  ['it lives after a kill: killed again', killed, { is: 'due' }, 110, { ...killed, since: 110 }, 'kill'],
  ['killed, and gone', killed, { is: 'exited' }, 103, { at: 'waiting', until: 108 }, ''],
  ['asked to stop while it is being killed', killed, { is: 'stop' }, 103, { ...killed, next: 'end' }, ''],
  ['the pause is over', waiting, { is: 'due' }, 105, { at: 'starting', since: 105 }, 'start'],
  ['the end is the end', { at: 'ended' }, { is: 'exited' }, 1, { at: 'ended' }, ''],
];

for (const [title, state, event, now, want, effects] of rows) {
  test(`${state.at}, ${event.is}: ${title}`, () => {
    const next = step(state, event, now, limits);
    assert.deepEqual(next.state, want);
    assert.equal(next.effects.map((e) => e.do).join(' '), effects);
  });
}

test('whatever happens, an agent that is wanted is started again in time', () => {
  const longest = limits.ready + limits.watchdog + limits.kill + limits.pause;
  for (const first of [waitingAt(0), { at: 'starting', since: 0 }, { at: 'running', heard: 0 }] as KeptState[]) {
    let state = first;
    let now = 0;
    let starts = 0;
    for (let turns = 0; turns < 40 && starts === 0; turns++) {
      now = deadline(state, limits);
      const next = step(state, { is: 'due' }, now, limits);
      state = next.state;
      // A killed process ends and sends nothing else.
      if (next.effects.some((e) => e.do === 'kill')) state = step(state, { is: 'exited' }, now, limits).state;
      starts += next.effects.filter((e) => e.do === 'start').length;
    }
    assert.equal(starts, 1);
    assert.ok(now <= longest, `${now} ms`);
  }
});
