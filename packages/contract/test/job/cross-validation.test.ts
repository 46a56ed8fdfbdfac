import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crossValidationText } from '../../src/job/cross-validation.ts';

const found = { score: 'accuracy', value: 0.9, count: 100, folds: 5 };

test('a cross-validated score says how few images are held out, its interval and its folds', () => {
  assert.equal(
    crossValidationText({ count: 16, cross_validation: found }),
    'Only 16 images are held out. Cross-validated accuracy of the linear probe: 90.0 % (82.6 to 94.5 %) on 100 images in 5 folds, each measured by a probe that had not seen it. The delivered model is usually as good or better.',
  );
  for (const evaluation of [
    undefined,
    null,
    {},
    { cross_validation: 1 },
    { cross_validation: { ...found, folds: 'x' } },
  ])
    assert.equal(crossValidationText(evaluation), undefined);
});
