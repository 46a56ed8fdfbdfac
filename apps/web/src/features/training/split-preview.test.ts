import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SplitAnswer } from '@platform/contract/job/split-answer';
import { previewSplit } from './split-preview.ts';

const plain: SplitAnswer = {
  trainImages: 1400,
  validationImages: 300,
  testImages: 300,
  groups: 0,
  ungroupedImages: 2000,
  advice: [],
};
type Row = [name: string, answer: Partial<SplitAnswer>, lines: RegExp[], problem: RegExp | undefined];
const table: Row[] = [
  [
    'no group',
    {},
    [/^By image: one object may be in training and test/, /^1\u202f400 images for training, 300 for/],
    undefined,
  ],
  [
    'groups',
    { groups: 12, ungroupedImages: 0 },
    [/12 groups, 0 images without a group/, /300 for the test/],
    undefined,
  ],
  ['one group, one image without', { groups: 1, ungroupedImages: 1 }, [/1 group, 1 image without/, /test/], undefined],
  [
    'the trainer takes validation images',
    { validationImages: 0 },
    [/By image/, /validation from these, 300/],
    undefined,
  ],
  [
    'refused: no counts of a split that is not used',
    { groups: 2, ungroupedImages: 0, problem: { message: 'NOTHING_HELD_OUT: Nothing is held out. Add groups.' } },
    [/^By group: .* 2 groups/],
    /^Nothing is held out\. Add groups\.$/,
  ],
];
for (const [name, answer, lines, problem] of table) {
  test(`preview of the split: ${name}`, () => {
    const preview = previewSplit({ ...plain, ...answer });
    assert.equal(preview.lines.length, lines.length);
    for (const [i, line] of lines.entries()) assert.match(preview.lines[i] ?? '', line);
    if (problem) assert.match(preview.problem ?? '', problem);
    else assert.equal(preview.problem, undefined);
  });
}

test('preview of the split: warnings are those of the server', () => {
  assert.deepEqual(previewSplit({ ...plain, advice: ['a', 'b'] }).warnings, ['a', 'b']);
});
