import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareOutputs } from './exported-model.ts';
import { classReports, confusionOf, crossEntropy, scoreOf, softmax } from './score.ts';

const sure = (k: number): Float64Array => Float64Array.from([0, 1, 2], (i) => (i === k ? 0.8 : 0.1));
// true class, predicted class
const evaluated = [
  [0, 0],
  [0, 0],
  [0, 1],
  [1, 1],
  [1, 2],
  [1, 1],
].map(([label = 0, k = 0]) => ({ classes: [label], probabilities: sure(k) }));

test('confusion, precision, recall and F1 of a small table', () => {
  const confusion = confusionOf(evaluated, 3);
  assert.deepEqual(confusion, [
    [2, 1, 0],
    [0, 2, 1],
    [0, 0, 0],
  ]);
  const [a, b, c] = classReports(confusion, ['a', 'b', 'c']);
  assert.deepEqual(a, { label: 'a', precision: 1, recall: 2 / 3, f1: 0.8, support: 3 });
  assert.deepEqual(b, { label: 'b', precision: 2 / 3, recall: 2 / 3, f1: 2 / 3, support: 3 });
  assert.deepEqual(c, { label: 'c', precision: 0, recall: 0, f1: 0, support: 0 });
  assert.deepEqual(scoreOf(evaluated, ['a', 'b', 'c']), { accuracy: 4 / 6, macro_f1: (0.8 + 2 / 3) / 2 });
});

test('no held-out image, no figure', () => {
  assert.deepEqual(scoreOf([], ['a', 'b']), { accuracy: 0, macro_f1: 0 });
});

test('softmax of large logits and its cross entropy', () => {
  const probabilities = softmax(Float32Array.of(1000, 1000, -1000));
  assert.deepEqual([...probabilities], [0.5, 0.5, 0]);
  assert.ok(Math.abs(crossEntropy({ classes: [0], probabilities }) - Math.log(2)) < 1e-9);
});

test('a delivered model that predicts otherwise differs from one that is a near tie away', () => {
  const trained = [Float64Array.of(0.50001, 0.49999), Float64Array.of(0.9, 0.1)];
  assert.equal(compareOutputs(trained, [Float32Array.of(0.49999, 0.50001), Float32Array.of(0.9, 0.1)]).differs, false);
  assert.equal(compareOutputs(trained, [Float32Array.of(0.50001, 0.49999), Float32Array.of(0.1, 0.9)]).differs, true);
  assert.equal(compareOutputs(trained, []).differs, true);
  assert.ok(compareOutputs(trained, [Float32Array.of(0.5, 0.5), Float32Array.of(0.8, 0.2)]).maxDifference > 0.09);
});
