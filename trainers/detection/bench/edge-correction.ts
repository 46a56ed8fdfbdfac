/** A second stage for the edges of final boxes: ridge regressions on features of the box, one for each edge. */
import { cellStride, distanceUnit, neckChannels } from '@platform/trainer-engine/pretrained/centernet';
import type { Detection } from '../src/average-precision.ts';
import { iou } from '../src/boxes.ts';
import type { Box, LabelledBox } from '../src/boxes.ts';
import { poolBox } from '../src/rescoring.ts';
import { usualViews } from './stored-features.ts';
import type { Item, StoredFeatures } from './stored-features.ts';

/**
 * votes: the edges that 25 cells of the box predict, with and without the learned correction. strips: the neck inside
 * and outside the edge. pooled: EfficientNet-Lite0's features of rescoring.
 */
export type EdgeFeatures = 'votes' | 'strips' | 'pooled' | 'votes and strips';
export interface Correction {
  features: EdgeFeatures;
  /** Weight penalty of the ridge regression, for standardized features. */
  penalty: number;
  /** Part of the predicted correction that is applied. */
  share: number;
  /** Whether a detection counts in the regression as much as its score. */
  weighted: boolean;
}

/** Detections with a smaller IoU do not train. */
const minIou = 0.5;
const sides = ['left', 'top', 'right', 'bottom'] as const;
/** Cells that vote, as distances from the centre in shares of the box. */
const votingOffsets = [-0.3, -0.15, 0, 0.15, 0.3];

const sizeAlong = (box: Box, edge: number): number =>
  Math.max(1e-3, edge % 2 === 0 ? box.right - box.left : box.bottom - box.top);

/** The edges that cells predict, from those of the box, in shares of its size; then the size. */
function votesOf(box: Box, maps: readonly Float32Array[], side: number): number[] {
  const h = side / cellStride;
  const cell = (share: number): number => Math.min(h - 1, Math.max(0, Math.round(share * h)));
  const [middleX, middleY] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  const votes: number[] = [];
  for (const map of maps) {
    for (const dy of votingOffsets) {
      for (const dx of votingOffsets) {
        const x = cell(middleX + dx * (box.right - box.left));
        const y = cell(middleY + dy * (box.bottom - box.top));
        for (const [k, name] of sides.entries()) {
          const reach = (Math.max(0, map[(k * h + y) * h + x] ?? 0) * distanceUnit) / side;
          const from = (k % 2 === 0 ? x : y) / h;
          const edge = Math.min(1, Math.max(0, k < 2 ? from - reach : from + reach));
          votes.push(Math.min(1, Math.max(-1, (edge - box[name]) / sizeAlong(box, k))));
        }
      }
    }
  }
  return [...votes, Math.log(sizeAlong(box, 0)), Math.log(sizeAlong(box, 1))];
}

/** Solves A · X = B for a symmetric, positive definite A, by Cholesky's decomposition. */
function solve(a: Float64Array, size: number, b: readonly Float64Array[]): Float64Array[] {
  const l = Float64Array.from(a);
  const at = (i: number, j: number): number => l[i * size + j] ?? 0;
  for (let i = 0; i < size; i++) {
    for (let j = 0; j <= i; j++) {
      let sum = at(i, j);
      for (let k = 0; k < j; k++) sum -= at(i, k) * at(j, k);
      l[i * size + j] = i === j ? Math.sqrt(sum) : sum / at(j, j);
    }
  }
  return b.map((one) => {
    const x = Float64Array.from(one);
    for (let i = 0; i < size; i++) {
      for (let k = 0; k < i; k++) x[i] = (x[i] ?? 0) - at(i, k) * (x[k] ?? 0);
      x[i] = (x[i] ?? 0) / at(i, i);
    }
    for (let i = size - 1; i >= 0; i--) {
      for (let k = i + 1; k < size; k++) x[i] = (x[i] ?? 0) - at(k, i) * (x[k] ?? 0);
      x[i] = (x[i] ?? 0) / at(i, i);
    }
    return x;
  });
}

/** Sums over the training boxes for the regression of one edge. */
interface Moments {
  means: Float64Array;
  deviations: Float64Array;
  /** Second moments: features with features, features with the target. */
  squares: Float64Array;
  products: Float64Array;
  meanTarget: number;
}
interface Rows {
  features: Float64Array[];
  targets: number[];
  weights: number[];
}
function momentsOf({ features: rows, targets, weights: given }: Rows): Moments {
  const size = rows[0]?.length ?? 0;
  const total = given.reduce((sum, one) => sum + one, 0);
  const weights = given.map((one) => one / total);
  const means = new Float64Array(size);
  const deviations = new Float64Array(size);
  for (const [n, row] of rows.entries()) {
    for (let i = 0; i < size; i++) means[i] = (means[i] ?? 0) + (row[i] ?? 0) * (weights[n] ?? 0);
  }
  for (const [n, row] of rows.entries()) {
    for (let i = 0; i < size; i++) {
      deviations[i] = (deviations[i] ?? 0) + ((row[i] ?? 0) - (means[i] ?? 0)) ** 2 * (weights[n] ?? 0);
    }
  }
  for (let i = 0; i < size; i++) deviations[i] = Math.max(1e-3, Math.sqrt(deviations[i] ?? 0));
  const meanTarget = targets.reduce((sum, one, n) => sum + one * (weights[n] ?? 0), 0);
  const squares = new Float64Array(size * size);
  const products = new Float64Array(size);
  const standard = new Float64Array(size);
  for (const [n, row] of rows.entries()) {
    for (let i = 0; i < size; i++) standard[i] = ((row[i] ?? 0) - (means[i] ?? 0)) / (deviations[i] ?? 1);
    const target = ((targets[n] ?? 0) - meanTarget) * (weights[n] ?? 0);
    for (let i = 0; i < size; i++) {
      const x = (standard[i] ?? 0) * (weights[n] ?? 0);
      for (let j = 0; j <= i; j++) {
        squares[i * size + j] = (squares[i * size + j] ?? 0) + x * (standard[j] ?? 0);
      }
      products[i] = (products[i] ?? 0) + (standard[i] ?? 0) * target;
    }
  }
  return { means, deviations, squares, products, meanTarget };
}

export class EdgeCorrection {
  readonly #stored: StoredFeatures;
  readonly #moments = new Map<string, Moments[]>();
  readonly #fits = new Map<string, Float64Array[]>();
  readonly #features = new Map<string, Float64Array[][]>();
  constructor(stored: StoredFeatures) {
    this.#stored = stored;
  }
  /** Features of each box for each edge. */
  #of(item: Item, features: EdgeFeatures): Float64Array[][] {
    const key = `${features} ${item.kind} ${item.index}`;
    const found = this.#features.get(key) ?? this.#computed(item, features);
    this.#features.set(key, found);
    return found;
  }
  #computed(item: Item, features: EdgeFeatures): Float64Array[][] {
    const stored = this.#stored;
    if (features === 'votes') {
      const maps = [stored.read(item, 'edges'), stored.read(item, 'distances')];
      return item.peaks.map((box) => {
        const votes = Float64Array.from(votesOf(box, maps, item.side));
        return sides.map(() => votes);
      });
    }
    if (features === 'pooled') {
      const cells = [stored.map(item, 'kindCells'), stored.map(item, 'partCells')];
      return item.peaks.map((box) => {
        const pooled = Float64Array.from(poolBox(cells, box));
        return sides.map(() => pooled);
      });
    }
    if (features === 'strips') {
      const strips = stored.read(item, 'strips');
      const skipped = item.kind === 'train' ? item.truth.length : 0;
      const size = 2 * neckChannels;
      return item.peaks.map((_, i) =>
        sides.map((__, k) => {
          const from = ((i + skipped) * sides.length + k) * size;
          return Float64Array.from(strips.subarray(from, from + size));
        }),
      );
    }
    const [votes, strips] = [this.#of(item, 'votes'), this.#of(item, 'strips')];
    return item.peaks.map((_, i) =>
      sides.map((__, k) => Float64Array.from([...(votes[i]?.[k] ?? []), ...(strips[i]?.[k] ?? [])])),
    );
  }
  #momentsFor({ features, weighted }: Correction): Moments[] {
    const key = `${features} ${weighted}`;
    const known = this.#moments.get(key);
    if (known) return known;
    const rows = sides.map((): Rows => ({ features: [], targets: [], weights: [] }));
    for (const item of this.#stored.of('train').slice(0, usualViews)) {
      const own = this.#computed(item, features);
      for (const [i, peak] of item.peaks.entries()) {
        const nearest = nearestOf(peak, item.truth);
        if (!nearest || iou(peak, nearest) < minIou) continue;
        for (const [k, row] of rows.entries()) {
          const name = sides[k] ?? 'left';
          row.features.push(own[i]?.[k] ?? new Float64Array());
          row.targets.push((nearest[name] - peak[name]) / sizeAlong(peak, k));
          row.weights.push(weighted ? peak.score : 1);
        }
      }
    }
    const moments = rows.map(momentsOf);
    this.#moments.set(key, moments);
    return moments;
  }
  /** The boxes at the peaks with corrected edges. */
  correct(item: Item, correction: Correction): Detection[] {
    const { features, penalty, share, weighted } = correction;
    const moments = this.#momentsFor(correction);
    const key = `${features} ${penalty} ${weighted}`;
    const weights =
      this.#fits.get(key) ??
      moments.map(({ squares, products, means }) => {
        const size = means.length;
        const a = Float64Array.from(squares);
        for (let i = 0; i < size; i++) a[i * size + i] = (a[i * size + i] ?? 0) + penalty;
        return solve(a, size, [products])[0] ?? new Float64Array();
      });
    this.#fits.set(key, weights);
    const own = this.#of(item, features);
    return item.peaks.map((peak, i) => {
      const moved = sides.map((name, k) => {
        const [moment, w] = [moments[k], weights[k]];
        if (!moment || !w) throw new Error('an edge lacks its regression');
        const { means, deviations, meanTarget } = moment;
        let change = meanTarget;
        for (const [j, x] of (own[i]?.[k] ?? []).entries()) {
          change += ((w[j] ?? 0) * (x - (means[j] ?? 0))) / (deviations[j] ?? 1);
        }
        return Math.min(1, Math.max(0, peak[name] + share * change * sizeAlong(peak, k)));
      });
      const [left = 0, top = 0, right = 0, bottom = 0] = moved;
      return { ...peak, left, top, right: Math.max(left, right), bottom: Math.max(top, bottom) };
    });
  }
}

function nearestOf(box: Box, truth: readonly LabelledBox[]): LabelledBox | undefined {
  return truth.toSorted((a, b) => iou(box, b) - iou(box, a))[0];
}
