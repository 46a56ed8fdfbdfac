/** Losses of the head with their gradients, as nodes of the training graph. */
import type { Tape, Value } from '@platform/trainer-engine/autodiff/tape';

/** Minimum target of a cell that is the centre of a box. */
const minCentreTarget = 0.999;

/**
 * Focal loss of heatmap logits, divided by the number of boxes:
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
  const isCentre = g.op('Cast', [g.op('Greater', [wanted.name, g.scalar(minCentreTarget)])], { to: 1 });
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
 * IoU loss of the predicted box in the cells of the mask: weight/n Σ mask · −log IoU. It weights a pixel of a small box
 * more than one of a large box. Adds the cross entropy between `quality` (logits) and the IoU with the same weights;
 * its gradient does not reach the box. Emits the scalar `name`, the sum of both.
 */
export function overlapLoss(
  tape: Tape,
  predicted: { residual: Value; given: string; quality: Value },
  wanted: Value,
  mask: Value,
  inverseCount: Value,
  weight: number,
  name: string,
): void {
  const g = tape.graph;
  const times = (...values: readonly string[]): string => values.reduce((a, b) => g.op('Mul', [a, b]));
  const plus = (a: string, b: string): string => g.op('Add', [a, b]);
  const minus = (a: string, b: string): string => g.op('Sub', [a, b]);
  const over = (a: string, b: string): string => g.op('Div', [a, b]);
  // Limit distances to at least 0.001 units: below that the gradient pushes the edges apart.
  const real = (x: string): string => g.op('Max', [x, g.scalar(1e-3)]);
  const edge = (x: string, k: number): string => g.op('Slice', [x, g.ints([k]), g.ints([k + 1]), g.ints([1])]);
  const sides = [0, 1, 2, 3] as const;
  const found = real(plus(predicted.residual.name, predicted.given));
  const truth = real(wanted.name);
  const p = sides.map((k) => edge(found, k));
  const w = sides.map((k) => edge(truth, k));
  const nearer = sides.map((k) => g.op('Min', [p[k] ?? '', w[k] ?? '']));
  const extent = (edges: readonly string[], k: number): string => plus(edges[k] ?? '', edges[k + 2] ?? '');
  const [width, height] = [extent(p, 0), extent(p, 1)];
  const [commonWidth, commonHeight] = [extent(nearer, 0), extent(nearer, 1)];
  const common = times(commonWidth, commonHeight);
  const all = minus(plus(times(width, height), times(extent(w, 0), extent(w, 1))), common);
  const weights = times(mask.name, g.op('Mul', [inverseCount.name, g.scalar(weight)]));
  const one = g.scalar(1);

  const overlap = over(common, all);
  const { quality } = predicted;
  // log(1 + exp(z)) − z · overlap
  const surprise = minus(g.op('Softplus', [quality.name]), times(quality.name, overlap));
  tape.accumulate(quality, times(minus(g.op('Sigmoid', [quality.name]), overlap), weights));

  const loss = times(plus(minus(g.op('Log', [all]), g.op('Log', [common])), surprise), weights);
  g.op('ReduceSum', [loss, g.ints([0, 1, 2, 3])], { keepdims: 0 }, name);
  // d(log all − log common): the intersection depends on the predicted edge only where it is the nearer one.
  const byCommon = plus(over(one, all), over(one, common));
  const gradients = sides.map((k) => {
    const isHorizontal = k % 2 === 0;
    const isNearer = g.op('Cast', [g.op('Less', [p[k] ?? '', w[k] ?? ''])], { to: 1 });
    const grown = over(isHorizontal ? height : width, all);
    return minus(grown, times(isNearer, isHorizontal ? commonHeight : commonWidth, byCommon));
  });
  tape.accumulate(predicted.residual, times(g.op('Concat', gradients, { axis: 1 }), weights));
}
