/**
 * Scores of final boxes by what is inside them. The heatmap scores a box by features around its centre, before its
 * edges are known. Rescoring averages EfficientNet's features over the final box, over the box with its surroundings
 * and over its middle. A linear layer per label turns the means into a probability. The new score is the geometric mean
 * of both.
 *
 * The means are linear, too: the exported graph applies the layer to every cell first, and averages its few outputs.
 */
import type { Detection } from './average-precision.ts';
import type { Box } from './boxes.ts';
import { aboveMinScore, suppressCovered } from './decode.ts';
import type { CellMap } from './feature-maps.ts';

/** Regions of a box, as factors of its width and height about its centre; clipped to the image. */
export const regionScales = [1, 1.5, 0.5] as const;
/** Smallest extent of a region in cells, for the division: boxes may be empty. */
export const minExtent = 1e-3;

export interface Rescoring {
  /** For each map of cells [regions · labels, channels]: the rows of the first region first. */
  weights: readonly Float32Array[];
  /** One per label. */
  bias: Float32Array;
}

/** Number of features of a box. */
export const pooledSize = (maps: readonly Pick<CellMap, 'channels'>[]): number =>
  maps.reduce((sum, { channels }) => sum + channels * regionScales.length, 0);

/** The share of each of `edge` cells in the mean over a region. Corners in 0..1. */
function cellShares(low: number, high: number, scale: number, edge: number): { from: number; shares: number[] } {
  const [middle, half] = [(low + high) / 2, ((high - low) / 2) * scale];
  const start = Math.max(0, middle - half) * edge;
  const end = Math.min(1, middle + half) * edge;
  const extent = Math.max(minExtent, end - start);
  const from = Math.min(edge - 1, Math.floor(start));
  const shares: number[] = [];
  for (let cell = from; cell < edge && (cell < end || cell === from); cell++) {
    shares.push(Math.max(0, Math.min(end, cell + 1) - Math.max(start, cell)) / extent);
  }
  return { from, shares };
}

/** Means over the regions of a box: the channels of each region. */
export function poolMap({ values, channels, edge }: CellMap, box: Box, into: Float32Array, offset: number): number {
  let at = offset;
  for (const scale of regionScales) {
    const across = cellShares(box.left, box.right, scale, edge);
    const down = cellShares(box.top, box.bottom, scale, edge);
    const [tall, wide] = [down.shares.length, across.shares.length];
    for (let channel = 0; channel < channels; channel++) {
      let sum = 0;
      for (let i = 0; i < tall; i++) {
        const row = (channel * edge + down.from + i) * edge + across.from;
        let sumAcross = 0;
        for (let j = 0; j < wide; j++) sumAcross += (across.shares[j] ?? 0) * (values[row + j] ?? 0);
        sum += (down.shares[i] ?? 0) * sumAcross;
      }
      into[at++] = sum;
    }
  }
  return at;
}

/** Means over the regions of a box, map by map. */
export function poolBox(cells: readonly CellMap[], box: Box): Float32Array {
  const pooled = new Float32Array(pooledSize(cells));
  let at = 0;
  for (const map of cells) at = poolMap(map, box, pooled, at);
  return pooled;
}

/** The probability that the box shows the label. */
function probability({ weights, bias }: Rescoring, pooled: Float32Array, label: number): number {
  let [logit, at] = [bias[label] ?? 0, 0];
  for (const values of weights) {
    const channels = values.length / (regionScales.length * bias.length);
    for (const region of regionScales.keys()) {
      const row = (region * bias.length + label) * channels;
      for (let i = 0; i < channels; i++) logit += (values[row + i] ?? 0) * (pooled[at + i] ?? 0);
      at += channels;
    }
  }
  return 1 / (1 + Math.exp(-logit));
}

/** Reference for the exported graph. @returns the same boxes with new scores, the highest first. */
export function rescore(
  rescoring: Rescoring,
  peaks: readonly Detection[],
  cells: readonly CellMap[],
): readonly Detection[] {
  return peaks
    .map((one): Detection => {
      const seen = probability(rescoring, poolBox(cells, one), one.label);
      return { ...one, score: Math.sqrt(one.score * seen) };
    })
    .toSorted((a, b) => b.score - a.score);
}

/** The detections of an image: rescored, without covered ones and those with low scores. */
export function finalBoxes(
  rescoring: Rescoring | undefined,
  peaks: readonly Detection[],
  cells: readonly CellMap[],
): Detection[] {
  return aboveMinScore(suppressCovered(rescoring ? rescore(rescoring, peaks, cells) : peaks));
}
