import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SplitAnswer } from '@platform/contract/job/split-answer';
import { createOutput } from '../output.ts';
import { printSplit } from './split.ts';

const plain: SplitAnswer = {
  trainImages: 1400,
  validationImages: 300,
  testImages: 300,
  groups: 0,
  ungroupedImages: 2000,
  advice: [],
};
const counts = 'SPLIT       IMAGES\ntraining    1400\nvalidation  300\ntest        300\n\n';
const byImage =
  'By image: one object may be in training and test. Tag the images of an object group:NAME to keep them together.\n';
const accepted = '\nThe server would accept a submit.\n';

type Row = [name: string, answer: Partial<SplitAnswer>, labels: string[], expected: string];
const table: Row[] = [
  ['no group', {}, ['a', 'b'], `${counts}Labels: a, b.\n${byImage}${accepted}`],
  ['no label', {}, [], `${counts}${byImage}${accepted}`],
  [
    'one group, one image without',
    { groups: 1, ungroupedImages: 1 },
    ['a'],
    `${counts}Labels: a.\nBy group: images of one group: tag stay together. 1 group, 1 image without a group.\n${accepted}`,
  ],
  [
    'the trainer takes validation images',
    { validationImages: 0 },
    ['a'],
    `SPLIT       IMAGES\ntraining    1400\nvalidation  some of the training images\ntest        300\n\nLabels: a.\n${byImage}${accepted}`,
  ],
  [
    'warnings',
    { advice: ['First.', 'Second.'] },
    ['a'],
    `${counts}Labels: a.\n${byImage}\nWarning: First.\n\nWarning: Second.\n\nThe server would accept a submit, with 2 warnings.\n`,
  ],
  [
    'refused: no counts of a split that is not used',
    { problem: { message: 'NOTHING_HELD_OUT: Nothing is held out. Add groups.' } },
    ['a'],
    `Labels: a.\n${byImage}\nThe server would refuse a submit:\nNOTHING_HELD_OUT: Nothing is held out. Add groups.\n`,
  ],
  [
    'refused, by a server that sends no code',
    { problem: { message: 'Not today.\nTomorrow.' } },
    ['a'],
    `Labels: a.\n${byImage}\nThe server would refuse a submit:\nNot today.\ufffdTomorrow.\n`,
  ],
  [
    'labels cannot write to the terminal',
    { advice: ['No image of "\u001b[31m" is in the test.'] },
    ['\u001b[31m'],
    `${counts}Labels: \ufffd[31m.\n${byImage}\nWarning: No image of "\ufffd[31m" is in the test.\n\nThe server would accept a submit, with 1 warning.\n`,
  ],
];
for (const [name, answer, labels, expected] of table)
  test(`the split before a submit: ${name}`, () => {
    const written: string[] = [];
    const output = createOutput(false, { write: (text) => void written.push(text) });
    printSplit(output, { ...plain, ...answer }, labels);
    assert.equal(written.join(''), expected);
  });
