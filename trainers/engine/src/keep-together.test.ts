import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Split } from '@platform/contract/job/job';
import { CopyUnits, keepTogether } from './keep-together.ts';
import type { SplitImage } from './keep-together.ts';

const letters: Readonly<Record<string, Split>> = { t: 'train', v: 'validation', h: 'test' };
/** @param images - unit, label and split: `a0t`; upper case: users chose the split; label 9: negative. */
const parse = (images: string): { images: SplitImage[]; units: number[] } => {
  const all = images.split(' ');
  const names = [...new Set(all.map(([unit]) => unit))];
  return {
    images: all.map((one, i) => {
      const [, label = '0', split = 't'] = one;
      const isChosen = split !== split.toLowerCase();
      return {
        line: {
          sha256: String(i).padStart(3, '0'),
          split: letters[split.toLowerCase()] ?? 'train',
          ...(isChosen ? { split_chosen: true as const } : {}),
        },
        classes: [Number(label)],
        isNegative: label === '9',
      };
    }),
    units: all.map(([unit]) => names.indexOf(unit)),
  };
};
const kept = (text: string): string => {
  const { images, units } = parse(text);
  const splits = keepTogether(images, (i) => units[i] ?? -1);
  return splits.map((split) => (split === 'test' ? 'h' : (split?.charAt(0) ?? '-'))).join('');
};
const repeat = (one: string, count: number): string => Array.from({ length: count }, () => one).join(' ');

const rows: [name: string, images: string, expected: string][] = [
  ['units in one split stay', 'a0t a0t b0h b0h c0v', 'tthhv'],
  ['a unit in training and test moves to the test where it lacks images', 'a0t a0h b0t b0t c0t c0t d0v', 'hhttttv'],
  ['single images stay', 'a0t b0h c0v d0t e0t f0h', 'thvtth'],
  [
    'many bursts: about as many images are held out as before, and no burst is in two splits',
    ['a', 'b', 'c', 'd', 'e', 'f'].map((unit) => `${unit}0t ${unit}0t ${unit}0t ${unit}0h`).join(' '),
    'hhhhhhhhtttttttttttttttt',
  ],
  ['a label of two units stays as it was', 'a0t a0h b0t b0h c1t d1h e1t', 'thththt'],
  ['one unit for all stays as it was', 'a0t a0t a0h a0v', 'tthv'],
  ['a unit with most images of its label stays', `${repeat('a0t', 8)} a0h b0t c0h`, 'tttttttthth'],
  ['a chosen test gets no other image, and none of its unit is trained on', 'a0t a0H b0t b0t c0t c0t', '-htttt'],
  ['nor is any used for validation', 'a0v a0H b0t b0v c0t c0t d0t d0t', '-hvvtttt'],
  ['a chosen validation image holds for the unit', 'a0t a0V b0t b0t c0t c0t d0h', 'vvtttth'],
  ['a chosen training image holds for the unit', 'a0T a0h b0t b0t c0h c0h', 'tttthh'],
  ['two chosen splits stay, the others are for training', 'a0T a0H a0h b0t b0t c0t c0t', 'thttttt'],
  [
    'the test keeps images that are not negative',
    `${repeat('a0t', 5)} a0h b0t b0t c0t c0t d9h e9h e9t`,
    'ttttthtttthht',
  ],
  ['so does the validation', `${repeat('a0t', 5)} a0v b0t b0t c0t c0h d9v e9h`, 'tttttvtthhvh'],
  ['a label keeps images to learn from', 'a0t a0t a0H b0t b0t b0H c0t c0t c0H', '--h--htth'],
  ['nothing is added to a test that users chose', 'a0t a0v b0H c0t c0t d0t d0t', 'vvhtttt'],
];
for (const [name, images, expected] of rows) test(`keep together: ${name}`, () => assert.equal(kept(images), expected));

test('keep together: the order of the images does not matter', () => {
  const { images, units } = parse('a0t a0h b0t b0v c0t c0h d0t d0t e0t e0t f1t f1h g1t g1t h1v h1t');
  const order = images.map((_, i) => i).toReversed();
  const forward = keepTogether(images, (i) => units[i] ?? -1);
  const backward = keepTogether(
    order.map((i) => images[i] as SplitImage),
    (i) => units[order[i] ?? 0] ?? -1,
  );
  assert.deepEqual(backward.toReversed(), forward);
  for (const unit of new Set(units)) {
    const own = new Set(forward.filter((_, i) => units[i] === unit));
    assert.equal(own.size, 1, `unit ${unit} is in ${[...own].join(', ')}`);
  }
});

/** Numbers of images that are joined, `=` for certain and `-` as near copies: `0=1 1-2`. */
const joinedUnits = (count: number, pairs: string): string => {
  const units = new CopyUnits(count);
  for (const pair of pairs.split(' ')) {
    const [a = 0, b = 0] = pair.split(/[=-]/).map(Number);
    if (pair.includes('=')) units.joinCertain(a, b);
    else units.joinCopies(a, b);
  }
  return units.units().join(' ');
};
const joins: [name: string, count: number, pairs: string, expected: string][] = [
  ['a burst', 5, '1-2 1-3 2-3', '0 1 1 1 4'],
  ['a burst that moves on: half of its pairs', 4, '0-1 1-2 2-3', '0 0 0 0'],
  ['a chain: less than half of its pairs', 5, '0-1 1-2 2-3 3-4', '0 1 2 3 4'],
  ['a group and a copy of one of its images', 5, '0=1 0=2 0=3 3-4', '0 0 0 0 0'],
  ['two groups that a chain joins stay groups', 7, '0=1 1-2 2-3 3-4 4-5 5=6', '0 0 2 3 4 5 5'],
];
for (const [name, count, pairs, expected] of joins)
  test(`units of near copies: ${name}`, () => assert.equal(joinedUnits(count, pairs), expected));
