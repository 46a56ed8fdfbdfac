import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DatasetLine } from '@platform/contract/job/job';
import { foldsOf } from './cross-validation.ts';
import type { Sample } from './load-images.ts';

const sample = (index: number, label: number, more: { unit?: string; group?: string } = {}): Sample => {
  const line = { sha256: `hash ${index}`, split: 'train', ...(more.group && { group: more.group }) } as DatasetLine;
  return { line, index, classes: [label], ...(more.unit && { unit: more.unit }) };
};

test('folds have about the same share of each label', () => {
  const samples = Array.from({ length: 40 }, (_, i) => sample(i, i < 10 ? 0 : 1));
  const folds = foldsOf(samples);
  for (let fold = 0; fold < 5; fold++) {
    const own = samples.filter((_, i) => folds[i] === fold);
    assert.deepEqual([own.length, own.filter(({ classes }) => classes[0] === 0).length], [8, 2], `fold ${fold}`);
  }
});

test('near copies and images of one group stay in one fold', () => {
  const samples = [
    ...Array.from({ length: 6 }, (_, i) => sample(i, 0, { unit: 'copies' })),
    ...Array.from({ length: 6 }, (_, i) => sample(6 + i, 1, { group: 'left' })),
    ...Array.from({ length: 8 }, (_, i) => sample(12 + i, i % 2)),
  ];
  const folds = foldsOf(samples);
  assert.equal(new Set(folds.slice(0, 6)).size, 1);
  assert.equal(new Set(folds.slice(6, 12)).size, 1);
  assert.deepEqual([...new Set(folds)].toSorted(), [0, 1, 2, 3, 4]);
});

test('fewer units than folds give fewer folds', () => {
  const samples = Array.from({ length: 12 }, (_, i) => sample(i, i % 2, { group: i % 2 === 0 ? 'left' : 'right' }));
  assert.deepEqual([...new Set(foldsOf(samples))].toSorted(), [0, 1]);
});
