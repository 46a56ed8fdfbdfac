import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LabelEdit } from './label-edits.ts';
import {
  addSaves,
  conflictsOf,
  decideConflict,
  emptyQueue,
  nextSave,
  nextSaves,
  settleSave,
  settleTogether,
} from './label-saves.ts';
import type { SaveOutcome, SaveQueue } from './label-saves.ts';

const edit = (image: string, after: string, before: readonly string[] = []): LabelEdit => ({
  do: 'labels',
  image,
  before,
  after: [after],
});
const names = ({ waiting }: SaveQueue): string[] =>
  waiting.map((save) => `${save.edit.image} ${save.edit.do === 'labels' ? save.edit.after.join() : ''}`);

/** Ends the next saves like this, one after the other. */
function settle(queue: SaveQueue, ...outcomes: SaveOutcome[]): SaveQueue {
  let now = queue;
  for (const outcome of outcomes) {
    const save = nextSave(now);
    assert.ok(save);
    now = settleSave(now, save, outcome);
  }
  return now;
}

const three = addSaves(emptyQueue, [edit('a', 'cup'), edit('b', 'mug'), edit('a', 'mug', ['cup'])]);
const cases: readonly [title: string, outcomes: SaveOutcome[], waiting: string[], state: SaveQueue['state']][] = [
  ['nothing yet', [], ['a cup', 'b mug', 'a mug'], 'saving'],
  ['in their order', ['saved', 'saved'], ['a mug'], 'saving'],
  ['offline: all stay', ['unreachable', 'unreachable'], ['a cup', 'b mug', 'a mug'], 'offline'],
  ['online again', ['unreachable', 'saved'], ['b mug', 'a mug'], 'saving'],
  ['a refusal stops and loses nothing', ['saved', 'refused'], ['b mug', 'a mug'], 'stopped'],
  ['a conflict holds its image only', ['changed', 'saved'], ['a cup', 'a mug'], 'saving'],
];
for (const [title, outcomes, waiting, state] of cases)
  test(`saves: ${title}`, () => {
    const queue = settle(three, ...outcomes);
    assert.deepEqual([names(queue), queue.state], [waiting, state]);
  });

test('saves: a decision replaces the edits of its image and no other', () => {
  const held = settle(three, 'changed');
  assert.deepEqual(conflictsOf(held), ['a']);
  const mine = decideConflict(held, 'a', [edit('a', 'mug', ['plate'])]);
  assert.deepEqual([names(mine), conflictsOf(mine)], [['b mug', 'a mug'], []]);
  assert.deepEqual(names(decideConflict(held, 'a', [])), ['b mug']);
  const numbers = addSaves(mine, [edit('c', 'cup')]).waiting.map(({ number }) => number);
  assert.deepEqual(
    numbers,
    [...new Set(numbers)].toSorted((x, y) => x - y),
    'numbers rise',
  );
});

test('saves: the same change of several images is one call; edits of an image stay in their order', () => {
  const edits = [
    edit('a', 'cup'),
    edit('b', 'mug'),
    edit('c', 'cup'),
    edit('a', 'mug', ['cup']),
    edit('b', 'cup'),
    edit('d', 'cup'),
  ];
  const queue = addSaves(emptyQueue, edits);
  const together = nextSaves(queue);
  assert.deepEqual(
    together.map((save) => save.edit.image),
    ['a', 'c', 'd'],
  );
  const left = settleTogether(queue, together);
  assert.deepEqual(names(left), ['b mug', 'a mug', 'b cup']);
  assert.deepEqual(
    nextSaves(left).map((save) => save.edit.image),
    ['b'],
  );
  const held = settleSave(queue, nextSave(queue) ?? assert.fail(), 'changed');
  assert.deepEqual(
    nextSaves(held).map((save) => save.edit.image),
    ['b'],
  );
  const many = addSaves(
    emptyQueue,
    Array.from({ length: 500 }, (_, at) => edit(`image ${at}`, 'cup')),
  );
  assert.equal(nextSaves(many).length, 200);
});
