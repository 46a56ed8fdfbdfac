import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import {
  adopted,
  backOff,
  deadline,
  initial,
  standardLimits,
  step,
  type Event,
  type Goal,
  type Limits,
  type Phase,
  type State,
} from './server-process.ts';

const s = 1000;
const limits: Limits = { ...standardLimits, startTimeout: 600 * s };
const yes: Goal = { run: 'yes', hasProgram: true };
const none: Goal = { run: 'yes', hasProgram: false };
const disabled: Goal = { run: 'disabled', hasProgram: true };
const ended: Goal = { run: 'ended', hasProgram: true };
const state = (phase: Phase, goal = yes, failures = 0): State => ({ ...phase, goal, failures });
const wanted = (goal: Goal): Event => ({ is: 'wanted', goal });
const starting = state({ at: 'starting', since: 0 });
const running = state({ at: 'running', since: 0 });
const stopping = (sent: 'TERM' | 'QUIT' | 'KILL', next: 'start' | 'backOff' = 'start', goal = yes) =>
  state({ at: 'stopping', since: 0, sent, next }, goal);
const waiting = state({ at: 'waiting', until: 60 * s }, yes, 3);
const due: Event = { is: 'due' };
const exited: Event = { is: 'exited' };

const rows: [name: string, from: State, event: Event, now: number, to: string, effects: string][] = [
  ['nothing to run', initial(none), wanted(none), 0, 'stopped', ''],
  ['installed: it starts at once', initial(none), wanted(yes), 0, 'starting', 'start'],
  ['disabled from the first', initial(none), wanted(disabled), 0, 'disabled', ''],
  ['enabled again', state({ at: 'disabled' }, disabled), wanted(yes), 0, 'starting', 'start'],
  ['enabled, but nothing to run', state({ at: 'disabled' }, disabled), wanted(none), 0, 'stopped', ''],
  ['ready', starting, { is: 'ready' }, s, 'running', ''],
  ['a moment before the start timeout', starting, due, 600 * s - 1, 'starting', ''],
  ['the start timeout', starting, due, 600 * s, 'stopping QUIT backOff 1', 'QUIT'],
  ['not started', starting, { is: 'notStarted', error: 'x' }, 0, 'waiting 1000 1', ''],
  [
    'not started on a full disk',
    starting,
    { is: 'notStarted', error: 'x', lacksResource: true },
    0,
    'waiting 30000 0',
    '',
  ],
  ['ended while starting', starting, exited, 5 * s, 'waiting 6000 1', ''],
  ['ended while starting, the fourth time', { ...starting, failures: 3 }, exited, 0, 'waiting 8000 4', ''],
  ['disabled while starting', starting, wanted(disabled), 0, 'stopping TERM start', 'TERM'],
  ['restart while starting', starting, { is: 'restart' }, 0, 'stopping TERM start', 'TERM'],
  ['ended by itself', running, exited, 10 * s, 'waiting 11000 1', ''],
  [
    'ended by itself a moment before it was steady',
    { ...running, failures: 4 },
    exited,
    60 * s - 1,
    `waiting ${76 * s - 1} 5`,
    '',
  ],
  [
    'ended by itself when steady: earlier failures count no more',
    { ...running, failures: 4 },
    exited,
    60 * s,
    'waiting 61000 1',
    '',
  ],
  ['restart', running, { is: 'restart' }, 0, 'stopping TERM start', 'TERM'],
  ['a new program does not stop it', running, wanted(none), 0, 'running', ''],
  ['disabled', running, wanted(disabled), 0, 'stopping TERM start', 'TERM'],
  ['the agent ends', running, wanted(ended), 0, 'stopping TERM start', 'TERM'],
  ['a moment before 120 s', stopping('TERM'), due, 120 * s - 1, 'stopping TERM start', ''],
  ['120 s after TERM', stopping('TERM'), due, 120 * s, 'stopping QUIT start', 'QUIT'],
  ['5 s after QUIT', stopping('QUIT'), due, 5 * s, 'stopping KILL start', 'KILL'],
  ['10 s after KILL', stopping('KILL'), due, 10 * s, 'stopping KILL start', 'KILL'],
  ['stopped for a restart', stopping('TERM'), exited, s, 'starting', 'start'],
  ['stopped after a start timeout', { ...stopping('KILL', 'backOff'), failures: 2 }, exited, s, 'waiting 3000 2', ''],
  ['stopped for good', stopping('TERM', 'start', ended), exited, s, 'stopped', ''],
  ['stopped by disable', stopping('TERM', 'start', disabled), exited, s, 'disabled', ''],
  ['disabled after a start timeout', stopping('KILL', 'backOff', disabled), exited, s, 'disabled', ''],
  ['enabled again while it stops', stopping('TERM', 'start', disabled), wanted(yes), 0, 'stopping TERM start', ''],
  [
    'it was never started after all',
    stopping('TERM', 'start', disabled),
    { is: 'notStarted', error: 'x' },
    0,
    'disabled',
    '',
  ],
  ['a second restart while it stops', stopping('TERM'), { is: 'restart' }, 0, 'stopping TERM start', ''],
  ['the back-off goes on', waiting, due, 60 * s - 1, 'waiting 60000 3', ''],
  ['the back-off is over', waiting, due, 60 * s, 'starting', 'start'],
  ['a restart is requested while it waits', waiting, { is: 'restart' }, s, 'starting', 'start'],
  ['another goal that still runs it', waiting, wanted(yes), s, 'waiting 60000 3', ''],
  ['disabled while it waits', waiting, wanted(disabled), s, 'disabled', ''],
  ['the agent ends while it waits', waiting, wanted(ended), s, 'stopped', ''],
  ['ready comes late', stopping('TERM'), { is: 'ready' }, 0, 'stopping TERM start', ''],
  ['restart of nothing', initial(none), { is: 'restart' }, 0, 'stopped', ''],
];
const shown = (to: State): string =>
  [
    to.at,
    ...(to.at === 'stopping' ? [to.sent, to.next] : to.at === 'waiting' ? [to.until] : []),
    ...(to.at === 'waiting' || (to.at === 'stopping' && to.failures > 0 && to.next === 'backOff') ? [to.failures] : []),
  ].join(' ');
for (const [name, from, event, now, to, effects] of rows) {
  test(`${from.at}: ${name}`, () => {
    const next = step(from, event, now, limits);
    assert.deepEqual(
      [shown(next.state), next.effects.map((e) => (e.do === 'signal' ? e.name : e.do)).join(' ')],
      [to, effects],
    );
  });
}

test('an adopted process has the whole start timeout', () => {
  const from = adopted(yes, 7);
  assert.equal(deadline(from, limits), 7 + 600 * s);
  assert.equal(step(from, { is: 'ready' }, 8, limits).state.at, 'running');
});

test('back-off doubles from 1 s to 5 min', () => {
  assert.deepEqual(
    [1, 2, 3, 9, 10, 60].map((n) => backOff(n, limits)),
    [1, 2, 4, 256, 300, 300].map((n) => n * s),
  );
});

test('whatever happens: never two processes, what is disabled or ended comes to rest, due moves the deadline', () => {
  const random = seededRandom(7);
  const dice = (n: number) => Math.floor(random() * n);
  let now = 0;
  let current = initial(none);
  let isAlive = false;
  let isStarting = false; // effect `start` not answered yet
  for (let i = 0; i < 100_000; i++) {
    const choices: Event[] = [wanted([yes, none, disabled, yes, yes][dice(5)]!), { is: 'restart' }, due];
    if (isStarting) choices.push({ is: 'notStarted', error: 'x' });
    if (isAlive) choices.push({ is: 'ready' }, exited, exited);
    const wake = deadline(current, limits);
    const event: Event = wake < Infinity && dice(4) === 0 ? due : choices[dice(choices.length)]!;
    now = event.is === 'due' && wake < Infinity ? Math.max(now, wake) : now + dice(30 * s);
    if (isStarting && event.is !== 'notStarted') [isStarting, isAlive] = [false, true]; // effects answer before later events
    if (event.is === 'notStarted') isStarting = false;
    if (event.is === 'exited') isAlive = false;
    const next = step(current, event, now, limits);
    for (const e of next.effects) {
      if (e.do !== 'start') continue;
      assert.ok(!isAlive && !isStarting, `${i}: started twice`);
      isStarting = true;
    }
    current = next.state;
    const isUp = current.at === 'starting' || current.at === 'running' || current.at === 'stopping';
    assert.equal(isUp, isAlive || isStarting, `${i}: ${event.is} → ${current.at}`);
    if (current.at === 'running' || current.at === 'starting') assert.equal(current.goal.run, 'yes');
    if (current.at === 'disabled') assert.equal(current.goal.run, 'disabled');
    if (event.is === 'due') assert.ok(deadline(current, limits) > now);
  }
});
