import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alikeGroups, alikeTo, visibleLabel } from './alike-labels.ts';

const composed = 'Kröte';
const decomposed = composed.normalize('NFD');

test('labels alike after normalization, case or white space are one group; that of most images is kept', () => {
  const groups = alikeGroups([
    { label: 'kröte', images: 2 },
    { label: composed, images: 9 },
    { label: decomposed, images: 3 },
    { label: `${composed} `, images: 1 },
    { label: 'mug', images: 4 },
    { label: 'Mug', images: 4 },
    { label: ' Mug', images: 4 },
    { label: 'pan', images: 4 },
  ]);
  assert.deepEqual(groups, [
    { keep: composed, others: [decomposed, 'kröte', `${composed} `] },
    { keep: 'Mug', others: ['mug', ' Mug'] },
  ]);
  assert.deepEqual(alikeGroups([{ label: 'cup', images: 1 }]), []);
});

test('images and boxes of one label count together', () => {
  const groups = alikeGroups([
    { label: 'cup', images: 3 },
    { label: 'Cup', images: 2 },
    { label: 'Cup', images: 2 },
  ]);
  assert.deepEqual(groups, [{ keep: 'Cup', others: ['cup'] }]);
});

test('what is invisible is marked', () => {
  assert.equal(visibleLabel('cup '), 'cup␣');
  assert.equal(visibleLabel('a  b'), 'a␣ b');
  assert.equal(visibleLabel('tea cup'), 'tea cup');
  assert.equal(visibleLabel(decomposed), `${decomposed} (decomposed letters)`);
});

test('a new label that is nearly a known one', () => {
  assert.equal(alikeTo('Cup', ['cup', 'mug']), 'cup');
  assert.equal(alikeTo(decomposed, [composed]), composed);
  assert.equal(alikeTo('cup', ['cup', 'Cup']), undefined);
  assert.equal(alikeTo('plate', ['cup']), undefined);
});
