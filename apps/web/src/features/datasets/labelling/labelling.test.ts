import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Box } from '../../../entities/image/boxes.ts';
import { applyLabelEdit, editsBetween } from './label-edits.ts';
import type { LabelEdit, LabelImage } from './label-edits.ts';
import { keyOf, keyOrder, labelKeyNames, meaningOf } from './label-keys.ts';
import {
  labelledCount,
  nextUnlabelled,
  replaceImage,
  shownImage,
  startLabelling,
  step,
  usualMode,
} from './labelling.ts';
import type { Command, Labelling } from './labelling.ts';

const box = (id: string, label: string, xMin = 0.25): Box => ({ id, label, xMin, yMin: 0.25, xMax: 0.75, yMax: 0.75 });
const image = (id: string, labels: string[] = [], boxes: Box[] = []): LabelImage => ({ id, name: id, labels, boxes });
const key = (name: string) => ({
  key: name.replace('Shift+', '').replace('Ctrl+', ''),
  shiftKey: name.startsWith('Shift+'),
  ctrlKey: name.startsWith('Ctrl+'),
  metaKey: false,
  altKey: false,
});

/** Presses keys, one after the other. */
function press(start: Labelling, keys: readonly string[]): { now: Labelling; saves: LabelEdit[] } {
  let [now, saves, ids]: [Labelling, LabelEdit[], number] = [start, [], 0];
  for (const name of keys) {
    const meaning = meaningOf(key(name), now, () => `new-${++ids}`);
    assert.ok(meaning && meaning.do !== 'screen' && meaning.do !== 'pan', `${name} changes nothing`);
    const done = step(now, meaning);
    now = done.now;
    saves = [...saves, ...done.saves];
  }
  return { now, saves };
}

const four = ['a', 'b', 'c', 'd'].map((id) => image(id));
const labels = ['cup', 'mug'];
const cases: readonly {
  title: string;
  images: readonly LabelImage[];
  mode: Labelling['mode'];
  keys: readonly string[];
  /** Labels, or in the mode of boxes their labels, per image. */
  after: Readonly<Record<string, readonly string[]>>;
  at: string;
  saves: number;
}[] = [
  {
    title: 'one label: a key answers and goes on',
    images: four,
    mode: 'one',
    keys: ['1', '2', '1'],
    after: { a: ['cup'], b: ['mug'], c: ['cup'], d: [] },
    at: 'd',
    saves: 3,
  },
  {
    title: 'an answer skips what is labelled',
    images: [image('a'), image('b', ['mug']), image('c')],
    mode: 'one',
    keys: ['1'],
    after: { a: ['cup'], b: ['mug'], c: [] },
    at: 'c',
    saves: 1,
  },
  {
    title: 'after the last one it goes on at the first without a label',
    images: four,
    mode: 'one',
    keys: ['End', '2'],
    after: { a: [], b: [], c: [], d: ['mug'] },
    at: 'a',
    saves: 1,
  },
  {
    title: 'a correction stays and replaces the label',
    images: four,
    mode: 'one',
    keys: ['1', 'ArrowLeft', '2'],
    after: { a: ['mug'], b: [], c: [], d: [] },
    at: 'a',
    saves: 2,
  },
  {
    title: 'undo over several images goes back to each',
    images: four,
    mode: 'one',
    keys: ['1', '2', 'z', 'z'],
    after: { a: [], b: [], c: [], d: [] },
    at: 'a',
    saves: 4,
  },
  {
    title: 'redo does it again',
    images: four,
    mode: 'one',
    keys: ['1', '2', 'z', 'z', 'Shift+Z', 'Ctrl+y'],
    after: { a: ['cup'], b: ['mug'], c: [], d: [] },
    at: 'b',
    saves: 6,
  },
  {
    title: 'several labels: keys add and remove, Space goes on',
    images: four,
    mode: 'several',
    keys: ['1', '2', ' ', '1', '2', '1', ' '],
    after: { a: ['cup', 'mug'], b: ['mug'], c: [], d: [] },
    at: 'c',
    saves: 5,
  },
  {
    title: 'the labels of the image before',
    images: four,
    mode: 'several',
    keys: ['1', '2', 'ArrowRight', 'c'],
    after: { a: ['cup', 'mug'], b: ['cup', 'mug'], c: [], d: [] },
    at: 'b',
    saves: 3,
  },
  {
    title: 'no answer without an image before',
    images: four,
    mode: 'one',
    keys: ['c', 'ArrowLeft', 'z'],
    after: { a: [], b: [], c: [], d: [] },
    at: 'a',
    saves: 0,
  },
  {
    title: 'clear, and undo of it',
    images: [image('a', ['cup'])],
    mode: 'one',
    keys: ['Backspace', 'z'],
    after: { a: ['cup'] },
    at: 'a',
    saves: 2,
  },
  {
    title: 'boxes of the image before, and undo takes all of them back',
    images: [image('a', [], [box('1', 'cup'), box('2', 'mug')]), image('b'), image('c')],
    mode: 'boxes',
    keys: ['Home', 'ArrowRight', 'c', 'ArrowRight', 'c', 'z'],
    after: { a: ['cup', 'mug'], b: ['cup', 'mug'], c: [] },
    at: 'c',
    saves: 6,
  },
];
for (const { title, images, mode, keys, after, at, saves } of cases)
  test(`labelling: ${title}`, () => {
    const done = press(startLabelling(images, { labels, mode }), keys);
    const found = done.now.images.map((one) => [
      one.id,
      mode === 'boxes' ? one.boxes.map(({ label }) => label) : one.labels,
    ]);
    assert.deepEqual(Object.fromEntries(found), after);
    assert.equal(shownImage(done.now)?.id, at);
    assert.equal(done.saves.length, saves);
    const replayed = images.map((one) => done.saves.reduce(applyLabelEdit, one));
    assert.deepEqual(replayed, done.now.images, 'the saved edits make what is shown');
  });

test('labelling: a digit labels the selected box, else the next one; copies have no confidence', () => {
  const predicted = { ...box('1', 'cup'), confidence: 0.5 };
  const start = startLabelling([image('a', [], [predicted]), image('b')], { image: 'a', labels, mode: 'boxes' });
  const next = press(start, ['2']);
  assert.deepEqual([next.now.boxLabel, next.saves.length], ['mug', 0]);
  const chosen = press(step(start, { do: 'select', box: '1' }).now, ['2']);
  assert.deepEqual(chosen.now.images[0]?.boxes, [box('1', 'mug')]);
  const copied = press(start, ['ArrowRight', 'c']);
  assert.deepEqual(copied.now.images[1]?.boxes, [box('new-1', 'cup')]);
});

test('labelling starts at the linked image, else at the first without a label, in the way that the dataset has', () => {
  const images = [image('a', ['cup']), image('b'), image('c')];
  assert.equal(startLabelling(images, { labels }).at, 1);
  assert.equal(startLabelling(images, { labels, image: 'c' }).at, 2);
  assert.equal(startLabelling(images, { labels, image: 'gone' }).at, 1);
  assert.equal(usualMode(images), 'one');
  assert.equal(usualMode([image('a', ['cup', 'mug'])]), 'several');
  assert.equal(usualMode([image('a', [], [box('1', 'cup')])]), 'boxes');
  const state = startLabelling(images, { labels, image: 'c' });
  assert.deepEqual([labelledCount(state), nextUnlabelled(state)], [1, 1]);
  assert.equal(nextUnlabelled(startLabelling([image('a', ['cup'])], { labels })), undefined);
});

test('labelling: an image that another user changed is taken over, and what was typed on it cannot be undone', () => {
  const typed = press(startLabelling(four, { labels, mode: 'one' }), ['1', '2']);
  const now = replaceImage(typed.now, image('b', ['plate']));
  assert.deepEqual(
    now.images.map((one) => one.labels[0]),
    ['cup', 'plate', undefined, undefined],
  );
  assert.deepEqual(
    press(now, ['z', 'z']).now.images.map((one) => one.labels[0]),
    [undefined, 'plate', undefined, undefined],
  );
});

test('keys: digits first, then letters that mean nothing else; a new label gets the next key', () => {
  assert.equal(new Set(labelKeyNames).size, labelKeyNames.length);
  const start: Labelling = startLabelling(four, { labels: [], mode: 'one' });
  let now = start;
  for (const label of labelKeyNames.map((name) => `label ${name}`)) now = step(now, { do: 'label', label }).now;
  for (const name of labelKeyNames) {
    const meaning = meaningOf(key(name), now, () => '');
    assert.deepEqual(meaning, { do: 'label', label: `label ${name}` } satisfies Command);
  }
  assert.equal(keyOf(now.labels, 'label a'), 'a');
  assert.equal(keyOf(['cup'], 'mug'), undefined);
  assert.equal(
    meaningOf(key('3'), { labels, mode: 'one' }, () => ''),
    undefined,
    'no third label',
  );
  for (const name of ['Tab', 'F5', 'Ctrl+c', 'Ctrl+1'])
    assert.equal(
      meaningOf(key(name), { labels, mode: 'one' }, () => ''),
      undefined,
      `${name} belongs to the browser`,
    );
});

test('keys stay with their labels; new ones follow in the order of the alphabet', () => {
  assert.deepEqual(keyOrder([], ['mug', 'cup']), ['cup', 'mug']);
  assert.deepEqual(keyOrder(['mug', 'gone'], ['cup', 'bowl', 'mug']), ['mug', 'bowl', 'cup']);
});

test('edits between two states of an image make the second of the first', () => {
  const from = image('a', ['cup'], [box('1', 'cup'), box('2', 'mug'), box('3', 'cup')]);
  const to = image('a', ['mug'], [box('1', 'cup'), box('3', 'cup', 0.5), box('4', 'new')]);
  const edits = editsBetween(from, to);
  assert.deepEqual(edits.reduce(applyLabelEdit, from), to);
  assert.equal(edits.length, 4);
  assert.deepEqual(editsBetween(to, to), []);
  assert.deepEqual(edits.reduce(applyLabelEdit, edits.reduce(applyLabelEdit, image('b'))), image('b'));
});
