import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  applyEdit,
  type BoxEdit,
  frameBetween,
  invertEdit,
  moveFrame,
  nudgeFrame,
  replaceId,
  withConfidence,
  moveCorner,
} from './boxes.ts';
import type { Box, Frame } from './boxes.ts';

const frame = (xMin: number, yMin: number, xMax: number, yMax: number): Frame => ({ xMin, yMin, xMax, yMax });
const rounded = (of: Frame | undefined) =>
  of && [of.xMin, of.yMin, of.xMax, of.yMax].map((value) => Math.round(value * 1000) / 1000);

test('a box is drawn from any corner and ends at the edges', () => {
  assert.deepEqual(rounded(frameBetween({ x: 0.8, y: 0.2 }, { x: 0.3, y: 0.6 })), [0.3, 0.2, 0.8, 0.6]);
  assert.deepEqual(rounded(frameBetween({ x: -1, y: 0.5 }, { x: 0.5, y: 2 })), [0, 0.5, 0.5, 1]);
  assert.equal(frameBetween({ x: 0.5, y: 0.1 }, { x: 0.505, y: 0.9 }), undefined);
  assert.equal(frameBetween({ x: 2, y: 2 }, { x: 3, y: 3 }), undefined);
});

test('a box that is moved keeps its size and stays inside', () => {
  const box = frame(0.1, 0.2, 0.4, 0.6);
  assert.deepEqual(rounded(moveFrame(box, 0.2, -0.1)), [0.3, 0.1, 0.6, 0.5]);
  assert.deepEqual(rounded(moveFrame(box, 5, 5)), [0.7, 0.6, 1, 1]);
  assert.deepEqual(rounded(moveFrame(box, -5, -5)), [0, 0, 0.3, 0.4]);
});

test('a corner that is dragged leaves the others, and never turns the box inside out', () => {
  const box = frame(0.2, 0.2, 0.6, 0.6);
  assert.deepEqual(rounded(moveCorner(box, 'top left', { x: 0.1, y: 0.3 })), [0.1, 0.3, 0.6, 0.6]);
  assert.deepEqual(rounded(moveCorner(box, 'bottom right', { x: 0.1, y: 0.1 })), [0.2, 0.2, 0.21, 0.21]);
  assert.deepEqual(rounded(moveCorner(box, 'top right', { x: 9, y: -9 })), [0.2, 0, 1, 0.6]);
  assert.deepEqual(rounded(moveCorner(box, 'bottom left', { x: 0.9, y: 0.9 })), [0.59, 0.2, 0.6, 0.9]);
});

test('arrow keys move, with Shift they change the size', () => {
  const box = frame(0.2, 0.2, 0.6, 0.6);
  assert.deepEqual(rounded(nudgeFrame(box, 'ArrowLeft', false)), [0.19, 0.2, 0.59, 0.6]);
  assert.deepEqual(rounded(nudgeFrame(box, 'ArrowDown', true)), [0.2, 0.2, 0.6, 0.61]);
  assert.equal(nudgeFrame(box, 'Enter', false), undefined);
});

test('a box shows the confidence of the model that predicted it', () => {
  assert.equal(withConfidence({ label: 'cup' }), 'cup');
  assert.equal(withConfidence({ label: 'cup', confidence: 0.754 }), 'cup 75 %');
  assert.equal(withConfidence({ label: 'cup', confidence: 0 }), 'cup 0 %');
});

const box = (id: string, label = 'cup'): Box => ({ id, label, ...frame(0, 0, 1, 1) });
test('every edit can be undone', () => {
  const start = [box('1'), box('2')];
  const edits: BoxEdit[] = [
    { do: 'add', box: box('3') },
    { do: 'remove', box: box('2') },
    { do: 'change', before: box('1'), after: box('1', 'pen') },
  ];
  const end = edits.reduce(applyEdit, start);
  assert.deepEqual(
    end.map(({ id, label }) => [id, label]),
    [
      ['1', 'pen'],
      ['3', 'cup'],
    ],
  );
  const back = edits.toReversed().map(invertEdit).reduce(applyEdit, end);
  assert.deepEqual(new Set(back.map(({ id, label }) => `${id} ${label}`)), new Set(['1 cup', '2 cup']));
});

test('what was made again under another ID is still meant by the edits before', () => {
  const edits = replaceId(
    [
      { do: 'add', box: box('a') },
      { do: 'change', before: box('a'), after: box('a', 'x') },
    ],
    'a',
    'b',
  );
  assert.deepEqual(edits, [
    { do: 'add', box: box('b') },
    { do: 'change', before: box('b'), after: box('b', 'x') },
  ]);
});
