import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '@platform/kit/testing';
import { deadline, initial, step, type Effect, type Event, type Failure, type State } from './attempt-life.ts';

const limits = { wallMs: 1000, isBuiltIn: true };
const broken: Failure = { cause: 'infrastructure', code: 'OFFLINE', message: 'x' };
const exit = (code: number | null, signal: string | null = null): Event => ({ is: 'exited', code, signal });

/** Plays the events 10 ms apart; returns the last state and all effects in order. */
function play(events: readonly Event[], isBuiltIn = true): { state: State; effects: readonly Effect[] } {
  let state = initial;
  const effects: Effect[] = [];
  for (const [at, event] of events.entries()) {
    const next = step(state, event, at * 10, { ...limits, isBuiltIn });
    state = next.state;
    effects.push(...next.effects);
  }
  return { state, effects };
}
const done = (...events: Event[]): string[] => play(events).effects.map((effect) => effect.do);
const begin: Event = { is: 'begin' };
const prepared: Event = { is: 'prepared' };
const uploaded: Event = { is: 'uploaded' };
const gone: Event = { is: 'gone' };
const reported: Event = { is: 'reported' };
const failed: Event = { is: 'failed', failure: broken };
const stopOrdered: Event = { is: 'stopOrdered' };
const leaseLost: Event = { is: 'leaseLost' };
const shutdown: Event = { is: 'shutdown' };
const refused: Event = { is: 'refused' };
const due: Event = { is: 'due' };

const stories: [string, Event[], string[]][] = [
  ['all goes well', [begin, prepared, exit(0), uploaded, reported], ['prepare', 'train', 'upload', 'complete']],
  ['a download fails', [begin, failed, gone, reported], ['prepare', 'abandon', 'fail']],
  ['the trainer fails', [begin, prepared, exit(1), gone, reported], ['prepare', 'train', 'abandon', 'fail']],
  [
    'an upload fails',
    [begin, prepared, exit(0), failed, gone, reported],
    ['prepare', 'train', 'upload', 'abandon', 'fail'],
  ],
  ['canceled before it begins', [stopOrdered, gone, reported], ['abandon', 'confirmStop']],
  ['canceled while preparing', [begin, stopOrdered, gone, reported], ['prepare', 'abandon', 'confirmStop']],
  [
    'canceled while training',
    [begin, prepared, stopOrdered, exit(143), gone, reported],
    ['prepare', 'train', 'abandon', 'confirmStop'],
  ],
  [
    'canceled twice',
    [begin, prepared, stopOrdered, stopOrdered, gone, reported],
    ['prepare', 'train', 'abandon', 'confirmStop'],
  ],
  ['canceled while it fails', [begin, failed, stopOrdered, gone, reported], ['prepare', 'abandon', 'confirmStop']],
  [
    'the result is refused',
    [begin, prepared, exit(0), uploaded, refused, reported],
    ['prepare', 'train', 'upload', 'complete', 'confirmStop'],
  ],
  [
    'the result is not valid',
    [begin, prepared, exit(0), uploaded, failed, reported],
    ['prepare', 'train', 'upload', 'complete', 'fail'],
  ],
  ['the lease is lost', [begin, prepared, leaseLost, gone], ['prepare', 'train', 'abandon']],
  [
    'the lease is lost while stopping',
    [begin, prepared, stopOrdered, leaseLost, gone],
    ['prepare', 'train', 'abandon'],
  ],
  ['shut down', [begin, prepared, shutdown, gone, reported], ['prepare', 'train', 'abandon', 'fail']],
  [
    'shut down while canceling',
    [begin, prepared, stopOrdered, shutdown, gone, reported],
    ['prepare', 'train', 'abandon', 'confirmStop'],
  ],
  [
    'news that come too late',
    [begin, prepared, exit(0), uploaded, exit(0), prepared, reported, failed, shutdown],
    ['prepare', 'train', 'upload', 'complete'],
  ],
];
for (const [name, events, effects] of stories) {
  test(name, () => {
    assert.deepEqual(done(...events), effects);
    assert.equal(play(events).state.at, 'ended');
  });
}

test('the wall time ends a training, not sooner', () => {
  const { state } = play([begin, prepared]);
  assert.equal(deadline(state), 10 + limits.wallMs);
  assert.deepEqual(step(state, due, 500, limits), { state, effects: [] });
  const { state: late } = step(state, due, 1010, limits);
  const { effects } = step(late, gone, 1011, limits);
  assert.deepEqual(effects, [
    {
      do: 'fail',
      failure: {
        cause: 'script',
        code: 'TRAINING_TIMED_OUT',
        message: 'The training took longer than its limit of 1 s.',
      },
    },
  ]);
});

const exits: [string, Event, boolean, Partial<Failure>][] = [
  [
    'bad data',
    { is: 'exited', code: 65, signal: null, lastError: { code: 'DATASET_EMPTY', message: 'm' } },
    true,
    { cause: 'data', code: 'DATASET_EMPTY', message: 'm' },
  ],
  ['bad data without a word', exit(65), true, { cause: 'data', code: 'TRAINER_FAILED' }],
  ['a crash of our trainer', exit(1), true, { cause: 'infrastructure', message: 'The trainer ended with code 1.' }],
  ['a script that fails', exit(1), false, { cause: 'script' }],
  [
    'a script that is killed',
    exit(null, 'SIGKILL'),
    false,
    { cause: 'infrastructure', message: 'The trainer was ended by SIGKILL.' },
  ],
];
for (const [name, event, isBuiltIn, failure] of exits) {
  test(`the cause of ${name}`, () => {
    const { effects } = play([begin, prepared, event, gone], isBuiltIn);
    const last = effects.at(-1);
    assert.equal(last?.do, 'fail');
    assert.partialDeepStrictEqual(last, { failure });
  });
}

test('random walks: one ending at most, nothing begun after it, always an end after gone and reported', () => {
  const random = seededRandom(7);
  const choices: Event[] = [
    begin,
    prepared,
    exit(0),
    exit(1),
    uploaded,
    failed,
    stopOrdered,
    leaseLost,
    shutdown,
    gone,
    reported,
    refused,
    due,
  ];
  for (let walk = 0; walk < 3000; walk++) {
    const path: Event[] = Array.from({ length: 12 }, () => choices[Math.floor(random() * choices.length)] ?? begin);
    const { effects } = play(path);
    const names = effects.map((effect) => effect.do);
    const firstEnding = names.findIndex((name) => ['complete', 'fail', 'confirmStop'].includes(name));
    const after = firstEnding < 0 ? [] : names.slice(firstEnding + 1);
    assert.ok(
      after.every((name) => name === 'fail' || name === 'confirmStop'),
      names.join(),
    );
    for (const name of ['prepare', 'train', 'upload', 'abandon', 'complete']) {
      assert.ok(names.filter((one) => one === name).length <= 1, names.join());
    }
    const { state } = play([...path, stopOrdered, gone, reported, reported, reported]);
    assert.equal(state.at, 'ended', path.map(({ is }) => is).join());
  }
});
