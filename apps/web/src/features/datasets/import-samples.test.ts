import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importSamples } from './import-samples.ts';

const box = { label: 'cup', xMin: 0, yMin: 0, xMax: 1, yMax: 1 };
const image = (name: string, labels: string[], boxes = 0) => ({
  name,
  labels,
  boxes: Array.from({ length: boxes }, () => box),
});
const names = (images: ReturnType<typeof image>[], most: number) => importSamples(images, most).map(({ name }) => name);

test('samples of an import: each label in turn, and boxes first', () => {
  const many = ['a', 'b', 'c'].flatMap((label) => [1, 2, 3].map((n) => image(`${label}${n}`, [label])));
  assert.deepEqual(names(many, 4), ['a1', 'b1', 'c1', 'a2']);
  assert.deepEqual(names(many, 100).length, 9);
  assert.deepEqual(names([image('plain', ['a']), image('drawn', [], 2)], 10), ['drawn']);
  assert.deepEqual(names([image('none', [])], 10), ['none']);
  assert.deepEqual(names([], 10), []);
});
