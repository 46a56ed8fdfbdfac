import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LabelEdit, LabelImage } from './label-edits.ts';
import { meaningOf } from './label-keys.ts';
import { replaceImage, shownImage, startLabelling, step } from './labelling.ts';
import type { Labelling } from './labelling.ts';
import { openSuggestions, suggestionCounts } from './suggestions.ts';
import type { Suggestion } from './suggestions.ts';

const frame = { xMin: 0.1, yMin: 0.1, xMax: 0.4, yMax: 0.4 };
const suggestion = (id: string, label: string, score: number, isBox = false): Suggestion => ({
  id,
  label,
  score,
  frame: isBox ? frame : undefined,
  isRejected: false,
});
const image = (id: string, suggestions: Suggestion[], labels: string[] = []): LabelImage => ({
  id,
  name: id,
  labels,
  boxes: [],
  suggestions,
});

function press(start: Labelling, keys: readonly string[]): { now: Labelling; saves: LabelEdit[] } {
  let [now, saves]: [Labelling, LabelEdit[]] = [start, []];
  for (const name of keys) {
    const shiftKey = name.startsWith('Shift+');
    const key = { key: name.replace('Shift+', ''), shiftKey, ctrlKey: false, metaKey: false, altKey: false };
    const meaning = meaningOf(key, now, () => 'new');
    assert.ok(meaning && meaning.do !== 'screen' && meaning.do !== 'pan', `${name} changes nothing`);
    const done = step(now, meaning);
    [now, saves] = [done.now, [...saves, ...done.saves]];
  }
  return { now, saves };
}

const four = [
  image('a', [suggestion('a1', 'cup', 0.97)]),
  image('b', [suggestion('b1', 'mug', 0.7)]),
  image('c', [suggestion('c1', 'mug', 0.92)]),
  image('d', []),
];
const labels = ['cup', 'mug'];
const labelsOf = ({ images }: Labelling): string[] => images.map((one) => one.labels.join(' '));

const cases: [what: string, keys: string[], after: string[], at: string][] = [
  ['Y accepts one and goes on', ['y'], ['cup', '', '', ''], 'b'],
  ['N rejects one and stays for another answer', ['n', '2'], ['mug', '', '', ''], 'b'],
  ['Shift Y accepts those from 90 % on, on images without a label', ['Shift+Y'], ['cup', '', 'mug', ''], 'b'],
  ['a lower score accepts more', ['[', '[', '[', '[', 'Shift+Y'], ['cup', 'mug', 'mug', ''], 'd'],
  ['a higher score accepts fewer', [']', 'Shift+Y'], ['cup', '', '', ''], 'b'],
  ['undo reverts all of one action', ['Shift+Y', 'z'], ['', '', '', ''], 'a'],
  ['redo does it again', ['Shift+Y', 'z', 'Shift+Z'], ['cup', '', 'mug', ''], 'a'],
  ['what is labelled stays', ['2', 'Shift+Y'], ['mug', '', 'mug', ''], 'b'],
  ['nothing to accept changes nothing', ['End', 'y', 'n'], ['', '', '', ''], 'd'],
];
for (const [what, keys, after, at] of cases)
  test(`suggestions of one label: ${what}`, () => {
    const { now } = press(startLabelling(four, { labels }), keys);
    assert.deepEqual(labelsOf(now), after);
    assert.equal(shownImage(now)?.id, at);
  });

test('a rejection is saved, undone and kept when the image is read again', () => {
  const start = startLabelling(four, { labels });
  const { now, saves } = press(start, ['n']);
  assert.deepEqual(saves, [{ do: 'reject', image: 'a', suggestion: 'a1', isRejected: true }]);
  const fresh = replaceImage(now, { id: 'a', name: 'a', labels: [], boxes: [] });
  assert.deepEqual(openSuggestions(fresh.images[0] ?? image('', []), 'one'), []);
  const undone = press(now, ['z']);
  assert.deepEqual(undone.saves, [{ do: 'reject', image: 'a', suggestion: 'a1', isRejected: false }]);
  assert.equal(openSuggestions(undone.now.images[0] ?? image('', []), 'one').length, 1);
});

test('several labels: Y adds one after the other, beside those that a user gave', () => {
  const both = [image('a', [suggestion('1', 'cup', 0.9), suggestion('2', 'mug', 0.6)], ['jar'])];
  const { now } = press(startLabelling(both, { labels: ['jar', 'cup', 'mug'], mode: 'several' }), ['y', 'y']);
  assert.deepEqual(labelsOf(now), ['jar cup mug']);
  assert.deepEqual(openSuggestions(now.images[0] ?? image('', []), 'several'), []);
});

test('boxes: an accepted one has the ID of its suggestion, so that it is not suggested again', () => {
  const two = [image('a', [suggestion('1', 'cup', 0.95, true), suggestion('2', 'mug', 0.6, true)])];
  const start = startLabelling(two, { labels, mode: 'boxes' });
  assert.deepEqual(suggestionCounts(start.images, 'boxes', start.minimum), { open: 1, sure: 1 });
  const { now, saves } = press(start, ['y', 'n']);
  assert.deepEqual(now.images[0]?.boxes, [{ id: '1', label: 'cup', ...frame }]);
  assert.deepEqual(openSuggestions(now.images[0] ?? image('', []), 'boxes'), []);
  assert.deepEqual(
    saves.map((one) => one.do),
    ['box', 'reject'],
  );
  const undone = press(now, ['z', 'z']).now;
  assert.equal(openSuggestions(undone.images[0] ?? image('', []), 'boxes').length, 2);
});
