import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ViewState } from '@platform/contract/gen/platform/live/v1/live_pb';
import { type LiveAnswer, liveLabel, whyNoView } from './live-state.ts';

const now = 1_764_000_000_000;
const answer = (more: Partial<LiveAnswer>): LiveAnswer => ({
  state: ViewState.IMAGE,
  frame: { url: 'blob:1', ratio: 1, boxes: [] },
  takenOn: now - 1_000,
  receivedAt: now - 500,
  problem: '',
  ...more,
});

const rows: readonly [what: string, answer: LiveAnswer | undefined, label: string, isLive: boolean][] = [
  ['before the first answer', undefined, 'quiet no image: Waits for the first image for 3 s.', false],
  [
    'the machine has not sent one',
    answer({ state: ViewState.WAITING, frame: undefined, receivedAt: undefined }),
    'quiet no image: Waits for the first image for 3 s.',
    false,
  ],
  ['a new image', answer({}), 'good live: ', true],
  ['an image of five seconds ago', answer({ receivedAt: now - 5_000 }), 'good live: ', true],
  ['an older image', answer({ receivedAt: now - 7_000 }), 'warn no image for 7 s: ', false],
  [
    'an older image of a machine that is offline',
    answer({ state: ViewState.OFFLINE, receivedAt: now - 65_000 }),
    'warn no image for 1 min 5 s: ',
    false,
  ],
  [
    'a camera that fails',
    answer({ state: ViewState.PROBLEM, frame: undefined, problem: 'The camera "front" gives no image.' }),
    'bad no image: The camera "front" gives no image.',
    false,
  ],
  [
    'a camera that failed when the machine was last heard',
    answer({ state: ViewState.OFFLINE, frame: undefined, receivedAt: now - 20_000, problem: 'It gives no image.' }),
    'warn no answer for 20 s: It gives no image.',
    false,
  ],
  [
    'a machine that is offline',
    answer({ state: ViewState.OFFLINE, frame: undefined, receivedAt: undefined }),
    'quiet no image: No live view: the machine is offline.',
    false,
  ],
];

for (const [what, found, label, isLive] of rows)
  test(`the label of a live view: ${what}`, () => {
    const { badge, text, isLive: isNow } = liveLabel(found, { startedAt: now - 3_000, now });
    assert.deepEqual([`${badge.tone} ${badge.text}: ${text}`, isNow], [label, isLive]);
  });

test('the reason is given where there can be no live view', () => {
  for (const state of [ViewState.IMAGE, ViewState.PROBLEM, ViewState.WAITING])
    assert.equal(whyNoView(state, 200e6), undefined);
  assert.match(whyNoView(ViewState.NOT_SUPPORTED, 200e6) ?? '', /Update it\.$/);
  assert.match(whyNoView(ViewState.SERVER_SILENT, 200e6) ?? '', /two minutes/);
  assert.match(whyNoView(ViewState.LIMIT_REACHED, 200e6) ?? '', /200 MB/);
  assert.match(whyNoView(ViewState.LIMIT_REACHED, 0) ?? '', /takes none/);
});
