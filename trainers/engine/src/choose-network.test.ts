import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choiceBy, conflictWith, pairedGain } from './choose-network.ts';

/** Scores of 30 images, of which the first `wrong` are wrong. */
const scores = (wrong: number): number[] => Array.from({ length: 30 }, (_, i) => (i < wrong ? 0 : 1));
const isBetter = ({ mean, standard_error: error }: ReturnType<typeof pairedGain>): boolean => mean > error;

test('a network is better by more than one standard error, not by one image', () => {
  assert.equal(isBetter(pairedGain(scores(6), scores(6))), false);
  assert.equal(isBetter(pairedGain(scores(6), scores(5))), false);
  assert.equal(isBetter(pairedGain(scores(6), scores(9))), false);
  assert.equal(isBetter(pairedGain(scores(6), scores(1))), true);
  assert.deepEqual(pairedGain([], []), { mean: 0, standard_error: 1, images: 0 });
});

test('the accurate network needs enough validation images and must be as small as the job allows', () => {
  assert.match(conflictWith({}, 19, 1) ?? '', /19 validation images are too few/);
  assert.match(conflictWith({ maxModelMegabytes: 20 }, 20, 20.1e6) ?? '', /needs 20.1 MB, the job allows 20 MB/);
  assert.deepEqual(
    [conflictWith({}, 20, 1e9), conflictWith({ maxModelMegabytes: 20 }, 20, 20e6)],
    [undefined, undefined],
  );
});

test('a requested network is delivered even if it is not better, and the reason says so', () => {
  const [better, equal] = [pairedGain(scores(6), scores(1)), pairedGain(scores(6), scores(6))];
  const chosen = [choiceBy(better, false), choiceBy(equal, false), choiceBy(equal, true)].map((one) => one.chosen);
  assert.deepEqual(chosen, ['accurate', 'compact', 'accurate']);
  assert.match(choiceBy(equal, true).reason, /requests the accurate network. On 30 validation images .* is not better/);
});
