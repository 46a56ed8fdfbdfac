import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import type { Failure } from '../attempt-life.ts';
import {
  deadline,
  initial,
  keepsLease,
  step,
  defaultTimeouts,
  type Effect,
  type Event,
  type DispatchTimeouts,
  type State,
} from './dispatch-life.ts';
import type { EngineEnd, EngineStatus } from './engine.ts';

const patience: DispatchTimeouts = {
  ...defaultTimeouts,
  firstPollMs: 1,
  maxPollMs: 30,
  silenceMs: 900,
  stuckMs: 600,
  graceMs: 25,
};

/** Plays the events 10 ms apart. */
function play(events: readonly Event[], use = patience): { state: State; done: string[]; effects: readonly Effect[] } {
  let state = initial(0);
  const effects: Effect[] = [];
  for (const [index, event] of events.entries()) {
    const next = step(state, event, index * 10, use);
    state = next.state;
    effects.push(...next.effects);
  }
  return { state, effects, done: effects.map((effect) => effect.do) };
}
const begin: Event = { is: 'begin', isKnown: false };
const taken: Event = { is: 'begin', isKnown: true };
const submitted: Event = { is: 'submitted' };
const due: Event = { is: 'due' };
const seen = (status: EngineStatus): Event => ({ is: 'seen', status });
const pending = (why = 'Priority', isStuck = false): Event => seen({ at: 'pending', why, isStuck });
const running = seen({ at: 'running' });
const absent = seen({ at: 'absent' });
const ended = (how: EngineEnd): Event => seen({ at: 'ended', how });
const away: Event = { is: 'unreachable', problem: 'no route' };
const refusal: Failure = { cause: 'infrastructure', code: 'ENGINE_REFUSED', message: 'no such partition' };
const refused: Event = { is: 'refused', failure: refusal };
const stop: Event = { is: 'stopOrdered' };
const lost: Event = { is: 'leaseLost' };
const shutdown: Event = { is: 'shutdown' };
const reported: Event = { is: 'reported' };

const stories: [name: string, events: Event[], done: string[], at: State['at']][] = [
  [
    'runs and reports its final status itself',
    [begin, submitted, due, pending(), due, running, lost, due, ended({ is: 'succeeded' })],
    ['submit', 'poll', 'note', 'poll', 'poll'],
    'ended',
  ],
  [
    'ends without a final status',
    [begin, submitted, due, running, due, ended({ is: 'exited', code: 1 }), reported],
    ['submit', 'poll', 'poll', 'fail'],
    'ended',
  ],
  [
    'is gone from the engine',
    [begin, submitted, due, running, due, absent, reported],
    ['submit', 'poll', 'poll', 'fail'],
    'ended',
  ],
  ['the engine refuses it', [begin, refused, reported], ['submit', 'fail'], 'ended'],
  [
    'the engine is away at first',
    [begin, away, due, due, submitted, due, running],
    ['submit', 'submit', 'poll'],
    'running',
  ],
  ['taken over: not submitted again', [taken, running], ['poll'], 'running'],
  ['taken over, and it is over', [taken, ended({ is: 'succeeded' }), reported], ['poll', 'fail'], 'ended'],
  [
    'canceled before the engine has it',
    [begin, stop, submitted, due, ended({ is: 'canceled' }), reported],
    ['submit', 'cancel', 'poll', 'confirmStop'],
    'ended',
  ],
  ['canceled, and the engine never took it', [begin, stop, refused, reported], ['submit', 'confirmStop'], 'ended'],
  ['canceled while the engine is away', [begin, away, stop, reported], ['submit', 'confirmStop'], 'ended'],
  [
    'canceled in the queue of the engine',
    [begin, submitted, due, pending(), stop, due, ended({ is: 'canceled' }), reported],
    ['submit', 'poll', 'note', 'cancel', 'poll', 'confirmStop'],
    'ended',
  ],
  [
    'canceled in the run: the attempt does it',
    [begin, submitted, due, running, stop, lost, due, ended({ is: 'succeeded' })],
    ['submit', 'poll', 'poll'],
    'ended',
  ],
  [
    'canceled in the run: the engine must',
    [begin, submitted, due, running, stop, due, running, due, due, ended({ is: 'canceled' }), reported],
    ['submit', 'poll', 'poll', 'cancel', 'poll', 'confirmStop'],
    'ended',
  ],
  [
    'the order to end does not arrive: once more',
    [begin, submitted, stop, away, due, due, due, absent, reported],
    ['submit', 'cancel', 'cancel', 'poll', 'confirmStop'],
    'ended',
  ],
  [
    'the lease is lost in the queue',
    [begin, submitted, due, pending(), lost, due, due, ended({ is: 'canceled' })],
    ['submit', 'poll', 'note', 'cancel', 'poll'],
    'ended',
  ],
  [
    'the lease is lost before the engine has it',
    [begin, lost, submitted, due, absent],
    ['submit', 'cancel', 'poll'],
    'ended',
  ],
  [
    'shut down while it waits: handed back',
    [begin, submitted, due, pending(), shutdown, due, ended({ is: 'canceled' }), reported],
    ['submit', 'poll', 'note', 'cancel', 'poll', 'fail'],
    'ended',
  ],
  [
    'shut down before it is submitted',
    [begin, shutdown, submitted, due, absent, reported],
    ['submit', 'cancel', 'poll', 'fail'],
    'ended',
  ],
  [
    'shut down while it runs: left to the next one',
    [begin, submitted, due, running, shutdown],
    ['submit', 'poll'],
    'left',
  ],
  ['shut down while it is being ended', [begin, submitted, due, running, stop, shutdown], ['submit', 'poll'], 'left'],
  [
    'preempted and back in the queue',
    [begin, submitted, due, running, due, pending('BeginTime')],
    ['submit', 'poll', 'poll', 'note'],
    'waiting',
  ],
  [
    'a reason is reported once',
    [begin, submitted, due, pending(), due, pending(), due, pending('Resources')],
    ['submit', 'poll', 'note', 'poll', 'poll', 'note'],
    'waiting',
  ],
];
for (const [name, events, done, at] of stories) {
  test(name, () => {
    const played = play(events);
    assert.deepEqual([played.done, played.state.at], [done, at]);
  });
}

test('a silent engine: nothing fails before its time; then what waits fails, what runs is left to its own reports', () => {
  const waiting: State = { at: 'waiting', since: 0, why: '', polling: { at: 0, paceMs: 1, silentSince: 100 } };
  assert.equal(step(waiting, away, 999, patience).state.at, 'waiting');
  assert.deepEqual(step(waiting, away, 1000, patience).effects, [
    { do: 'fail', failure: { because: 'unreachable', problem: 'no route' } },
  ]);
  const silent: State = { at: 'running', polling: { at: 0, paceMs: 1, silentSince: 100 } };
  assert.equal(step(silent, away, 5000, patience).state.at, 'running');
  assert.deepEqual([keepsLease(silent, 999, patience), keepsLease(silent, 1000, patience)], [true, false]);
  const back = step(silent, running, 6000, patience).state;
  assert.equal(keepsLease(back, 6000, patience), true);
  const unsent: State = { at: 'submitting', since: 0, next: Infinity, will: 'run' };
  assert.equal(step(unsent, away, 899, patience).state.at, 'submitting');
  assert.equal(step(unsent, away, 900, patience).state.at, 'closing');
});

test('a stuck job fails with the reason; one that waits for its turn waits for ever', () => {
  const waiting: State = {
    at: 'waiting',
    since: 0,
    why: 'ImagePullBackOff',
    polling: { at: 0, paceMs: 1, silentSince: undefined },
  };
  assert.equal(step(waiting, pending('ImagePullBackOff', true), 599, patience).state.at, 'waiting');
  const stuck = step(waiting, pending('ImagePullBackOff', true), 600, patience);
  assert.deepEqual(
    stuck.effects.map((effect) => effect.do),
    ['cancel', 'fail'],
  );
  assert.equal(step(waiting, pending('Priority'), 1e9, patience).state.at, 'waiting');
  assert.equal(step(waiting, pending('Priority'), 5000, { ...patience, pendingMs: 5000 }).state.at, 'closing');
});

test('polls are frequent at first and after each change, then as slow as is set', () => {
  let state: State = {
    at: 'waiting',
    since: 0,
    why: 'Priority',
    polling: { at: 0, paceMs: 1, silentSince: undefined },
  };
  let now = 0;
  const paces: number[] = [];
  for (let count = 0; count < 12; count++) {
    const next: State = step(state, pending(), now, patience).state;
    paces.push(deadline(next) - now);
    now = deadline(next);
    state = next;
  }
  assert.ok(paces[0]! < 2 && paces.at(-1) === 30, paces.join());
  assert.equal(deadline(step(state, running, now, patience).state) - now, 1);
});

test('random walks: one ending at most, nothing submitted after an end began, and always an end', () => {
  const random = seededRandom(11);
  const choices: Event[] = [
    begin,
    submitted,
    due,
    pending(),
    pending('x', true),
    running,
    absent,
    ended({ is: 'canceled' }),
    ended({ is: 'succeeded' }),
    away,
    refused,
    stop,
    lost,
    shutdown,
    reported,
  ];
  const endings = ['fail', 'confirmStop'];
  for (let walk = 0; walk < 5000; walk++) {
    const path = [begin, ...Array.from({ length: 14 }, () => choices[Math.floor(random() * choices.length)] ?? due)];
    const { done, state } = play(path);
    const names = path.map((event) => event.is).join();
    assert.ok(done.filter((name) => endings.includes(name)).length <= 1, `${names}: ${done.join()}`);
    const firstEnding = done.findIndex((name) => endings.includes(name));
    assert.ok(firstEnding < 0 || firstEnding === done.length - 1, `${names}: ${done.join()}`);
    assert.ok(
      deadline(state) < Infinity ||
        ['closing', 'ended', 'left', 'submitting'].includes(state.at) ||
        done.at(-1) === 'poll',
      names,
    );
    const last = play([...path, submitted, stop, absent, reported, absent, reported]).state;
    assert.ok(['ended', 'left'].includes(last.at), `${names}: ${last.at}`);
  }
});
