/** The losses of CenterNet, with their gradients, as nodes of the training graph. */
import type { Tape, Value } from '@platform/trainer-engine/autodiff/tape';

/** A cell counts as the centre of a box from this target on. */
const centre = 0.999;

/**
 * Focal loss of heatmap logits, over the count of boxes:
 *   −1/n Σ [y = 1: (1−p)² log p; else (1−y)⁴ p² log(1−p)],  p = sigmoid(logits)
 * Emits the scalar `name`.
 */
export function heatmapLoss(tape: Tape, logits: Value, wanted: Value, inverseCount: Value, name: string): void {
  const g = tape.graph;
  const times = (...values: readonly string[]): string => values.reduce((a, b) => g.op('Mul', [a, b]));
  const one = g.scalar(1);
  const p = g.op('Clip', [g.op('Sigmoid', [logits.name]), g.scalar(1e-4), g.scalar(1 - 1e-4)]);
  const q = g.op('Sub', [one, p]);
  const logP = g.op('Log', [p]);
  const logQ = g.op('Log', [q]);
  const p2 = times(p, p);
  const q2 = times(q, q);
  const isCentre = g.op('Cast', [g.op('Greater', [wanted.name, g.scalar(centre)])], { to: 1 });
  const far = g.op('Sub', [one, wanted.name]);
  const far2 = times(far, far);
  const elsewhere = times(g.op('Sub', [one, isCentre]), far2, far2);

  const terms = g.op('Add', [times(isCentre, q2, logP), times(elsewhere, p2, logQ)]);
  const sum = g.op('ReduceSum', [terms, g.ints([0, 1, 2, 3])], { keepdims: 0 });
  g.op('Neg', [g.op('Mul', [sum, inverseCount.name])], {}, name);

  const atCentre = g.op('Sub', [times(g.scalar(2), p, q2, logP), times(q2, q)]);
  const around = g.op('Sub', [times(p2, p), times(g.scalar(2), p2, q, logQ)]);
  const gradient = g.op('Add', [times(isCentre, atCentre), times(elsewhere, around)]);
  tape.accumulate(logits, times(gradient, inverseCount.name));
}

/**
 * Huber loss of distances in the cells of the mask: weight/n Σ mask · h(residual + given − wanted), h(e) = e²/2 where
 * |e| ≤ 1, else |e| − 1/2. Emits the scalar `name`.
 */
export function distanceLoss(
  tape: Tape,
  predicted: { residual: Value; given: string },
  wanted: Value,
  mask: Value,
  inverseCount: Value,
  weight: number,
  name: string,
): void {
  const g = tape.graph;
  const times = (...values: readonly string[]): string => values.reduce((a, b) => g.op('Mul', [a, b]));
  const error = g.op('Sub', [g.op('Add', [predicted.residual.name, predicted.given]), wanted.name]);
  const clipped = g.op('Clip', [error, g.scalar(-1), g.scalar(1)]);
  const scale = g.op('Mul', [inverseCount.name, g.scalar(weight)]);
  // h(e) = c·(e − c/2), c = e clipped to −1..1
  const huber = times(clipped, g.op('Sub', [error, times(clipped, g.scalar(0.5))]), mask.name);
  g.op('Mul', [g.op('ReduceSum', [huber, g.ints([0, 1, 2, 3])], { keepdims: 0 }), scale], {}, name);
  tape.accumulate(predicted.residual, times(clipped, mask.name, scale));
}
