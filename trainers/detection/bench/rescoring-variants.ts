/**
 * Compares variants of rescoring, of edges and of several views of an image on the development sets.
 *   node rescoring-variants.ts --folder=FOLDER [--sets=0,1,2] [--only=PATTERN] [--sizes] | --times
 *     FOLDER keeps the sets, the trained weights and the features (5 GB); --only: variants whose name matches;
 *     --sizes: the image in other sizes, too, which takes twice as long the first time;
 *     --times: CPU time of the frozen networks for one image, one thread, and their size.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { cellStride } from '@platform/trainer-engine/pretrained/centernet';
import { openSession } from '@platform/trainer-engine/runtime';
import { meanAveragePrecision } from '../src/average-precision.ts';
import type { Detection, EvaluatedImage } from '../src/average-precision.ts';
import { iou } from '../src/boxes.ts';
import type { LabelledBox } from '../src/boxes.ts';
import { aboveMinScore, decodePeaks, maxBoxes, suppressCovered } from '../src/decode.ts';
import { readDetector } from '../src/feature-maps.ts';
import { poolMap, regionScales } from '../src/rescoring.ts';
import { fitRegressions, targetOf } from '../src/rescoring-fit.ts';
import type { BoxSample, Regressions } from '../src/rescoring-fit.ts';
import { trainDevelopment } from './development.ts';
import { EdgeCorrection } from './edge-correction.ts';
import type { Correction } from './edge-correction.ts';
import { MarginFit, withMargins } from './margins.ts';
import { averageMirrored, fuseBoxes, inImage, voteBoxes } from './several-views.ts';
import { developmentSets } from './sets.ts';
import { featuresGraph, pooledMaps, StoredFeatures, usualViews } from './stored-features.ts';
import type { Item, PooledMapName, SecondSize } from './stored-features.ts';

const { values: flags } = parseArgs({
  options: {
    folder: { type: 'string', default: '' },
    sets: { type: 'string', default: Array.from({ length: developmentSets }, (_, i) => i).join(',') },
    only: { type: 'string', default: '' },
    sizes: { type: 'boolean', default: false },
    times: { type: 'boolean', default: false },
  },
});

type Maps = readonly PooledMapName[];
const first: Maps = ['kindCells', 'partCells'];
const second: Maps = ['secondKind', 'secondPart'];
const small: Maps = ['smallKind', 'smallPart'];
const seed = 1;

/** Means of maps over the boxes, and the regressions on them; each computed once. */
class Rescorer {
  readonly #stored: StoredFeatures;
  readonly #pooled = new Map<string, Float32Array[]>();
  readonly #fits = new Map<string, Promise<Regressions>>();
  constructor(stored: StoredFeatures) {
    this.#stored = stored;
  }
  /** Means for the true boxes of a training view and its peaks, or for the peaks of a test image. */
  #ofItem(item: Item, maps: Maps): Float32Array[] {
    const boxes = item.kind === 'train' ? [...item.truth, ...item.peaks] : item.peaks;
    const parts = maps.map((name) => {
      const key = `${item.kind} ${item.side} ${item.index} ${JSON.stringify(item.part)} ${name}`;
      const found = this.#pooled.get(key) ?? this.pool(item, [name], boxes);
      this.#pooled.set(key, found);
      return found;
    });
    return boxes.map((_, i) => Float32Array.from(parts.flatMap((part) => [...(part[i] ?? [])])));
  }
  pool(item: Item, maps: Maps, boxes: readonly Detection[] | readonly LabelledBox[]): Float32Array[] {
    const all = maps.map((name) => this.#stored.map(item, name));
    const size = maps.reduce((sum, name) => sum + regionScales.length * pooledMaps[name].channels, 0);
    return boxes.map((box) => {
      const pooled = new Float32Array(size);
      let at = 0;
      for (const map of all) at = poolMap(map, box, pooled, at);
      return pooled;
    });
  }
  fit(maps: Maps, views = usualViews): Promise<Regressions> {
    const key = `${maps.join(' ')} ${views}`;
    const found = this.#fits.get(key) ?? this.#fit(maps, views);
    this.#fits.set(key, found);
    return found;
  }
  #fit(maps: Maps, views: number): Promise<Regressions> {
    const items = this.#stored.of('train').slice(0, views);
    const samples = items.flatMap((item) => {
      const pooled = this.#ofItem(item, maps);
      return pooled.map((values, i): BoxSample => {
        const truth = item.truth[i];
        if (truth) return { pooled: values, label: truth.label, fit: 1 };
        const peak = item.peaks[i - item.truth.length];
        if (!peak) throw new Error('more means than boxes');
        return { pooled: values, ...targetOf(peak, item.truth) };
      });
    });
    return fitRegressions(samples, items[0]?.labels ?? 0, seed, new AbortController().signal);
  }
  /** Logits of the boxes: of their own labels. */
  async logits(item: Item, maps: Maps, boxes: readonly Detection[], views = usualViews): Promise<number[]> {
    const { weights, means, deviations } = await this.fit(maps, views);
    const pooled = boxes === item.peaks ? this.#ofItem(item, maps) : this.pool(item, maps, boxes);
    return boxes.map(({ label }, i) => {
      const [row, values] = [weights[label] ?? new Float64Array(), pooled[i] ?? new Float32Array()];
      let logit = row[means.length] ?? 0;
      for (let j = 0; j < means.length; j++) {
        logit += ((row[j] ?? 0) * ((values[j] ?? 0) - (means[j] ?? 0))) / (deviations[j] ?? 1);
      }
      return logit;
    });
  }
}

interface SetData {
  stored: StoredFeatures;
  rescorer: Rescorer;
  edges: EdgeCorrection;
  margins: Float32Array;
}
/** Boxes of one test image. */
type Variant = (data: SetData, item: Item) => Promise<Detection[]>;

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
const byScore = (boxes: readonly Detection[]): Detection[] => boxes.toSorted((a, b) => b.score - a.score);
const final = (boxes: readonly Detection[]): Detection[] => aboveMinScore(suppressCovered(byScore(boxes)));
const rescored = (boxes: readonly Detection[], logits: readonly number[]): Detection[] =>
  boxes.map((one, i) => ({ ...one, score: Math.sqrt(one.score * sigmoid(logits[i] ?? 0)) }));

/** The boxes with margins, or with a share of them. */
function enlarged({ margins }: SetData, boxes: readonly Detection[], share = 1): Detection[] {
  const shares = margins.map((margin) => share * margin);
  return boxes.map((one) => withMargins(one, shares));
}
async function usualScores({ rescorer }: SetData, item: Item, boxes = item.peaks): Promise<Detection[]> {
  return rescored(boxes, await rescorer.logits(item, first, boxes));
}
const byMaps =
  (maps: Maps, views = usualViews): Variant =>
  async ({ rescorer }, item) =>
    final(rescored(item.peaks, await rescorer.logits(item, maps, item.peaks, views)));
const withShare =
  (share: number, maps: Maps = first): Variant =>
  async (data, item) => {
    const scored = rescored(item.peaks, await data.rescorer.logits(item, maps, item.peaks));
    return final(enlarged(data, scored, share));
  };
/** The mean of the logits of two regressions. */
const byBoth =
  (one: Maps, other: Maps, views = usualViews): Variant =>
  async ({ rescorer }, item) => {
    const a = await rescorer.logits(item, one, item.peaks, views);
    const b = await rescorer.logits(item, other, item.peaks, views);
    return final(
      rescored(
        item.peaks,
        a.map((x, i) => (x + (b[i] ?? 0)) / 2),
      ),
    );
  };
/** The same with the cubic root of all three. */
const byThree: Variant = async ({ rescorer }, item) => {
  const a = await rescorer.logits(item, first, item.peaks);
  const b = await rescorer.logits(item, second, item.peaks);
  return final(
    item.peaks.map((one, i) => ({
      ...one,
      score: Math.cbrt(one.score * sigmoid(a[i] ?? 0) * sigmoid(b[i] ?? 0)),
    })),
  );
};
/** Every label at the cell of each peak, with the heatmap's value of that label. */
const everyLabel =
  (maps: Maps): Variant =>
  async ({ stored, rescorer }, item) => {
    const boxes = boxesOfEveryLabel(stored, item);
    return final(rescored(boxes, await rescorer.logits(item, maps, boxes)));
  };
/** At most twice the usual number of boxes. */
function boxesOfEveryLabel(stored: StoredFeatures, item: Item): Detection[] {
  const heat = stored.read(item, 'heat');
  const size = { side: item.side, labels: 1 };
  const cells = (item.side / cellStride) ** 2;
  const edges = stored.read(item, 'edges');
  const highest = heat.subarray(0, cells).map((_, cell) => {
    const values = Array.from({ length: item.labels }, (__, label) => heat[label * cells + cell] ?? 0);
    return Math.max(...values);
  });
  const own = decodePeaks(heat, edges, { ...size, labels: item.labels });
  const others = decodePeaks(highest, edges, size).flatMap((peak) => {
    const cell = highest.indexOf(peak.score);
    return Array.from({ length: item.labels }, (_, label): Detection => ({
      ...peak,
      label,
      score: heat[label * cells + cell] ?? 0,
    }));
  });
  const added = others.filter(
    (one) => !own.some((peak) => peak.label === one.label && Math.abs(peak.score - one.score) < 1e-9),
  );
  return byScore([...own, ...added]).slice(0, 2 * maxBoxes);
}

const corrected =
  (correction: Correction, isRescoredLater = false): Variant =>
  async (data, item) => {
    const moved = data.edges.correct(item, correction);
    if (isRescoredLater) return final(await usualScores(data, item, moved));
    const scored = await usualScores(data, item);
    return final(moved.map((one, i) => ({ ...one, score: scored[i]?.score ?? 0 })));
  };

/** mirrored, tile, or the side of another size. */
type View = 'mirrored' | 'tile' | number;
const otherViews = (stored: StoredFeatures, item: Item, view: View): Item[] =>
  (typeof view === 'number' ? stored.of('scaled').filter(({ side }) => side === view) : stored.of(view)).filter(
    ({ index }) => index === item.index,
  );
type Fusion = (boxes: readonly (readonly Detection[])[]) => Detection[];
const views =
  (kinds: readonly View[], fuse: Fusion, share = 0): Variant =>
  async (data, item) => {
    const found = [enlarged(data, await usualScores(data, item), share)];
    for (const kind of kinds) {
      const others: Detection[] = [];
      for (const other of otherViews(data.stored, item, kind)) {
        others.push(...inImage(other, enlarged(data, await usualScores(data, other), share)));
      }
      found.push(others);
    }
    return fuse(found.map((boxes) => final(boxes)));
  };
const union = (boxes: readonly (readonly Detection[])[]): Detection[] => final(boxes.flat()).slice(0, 2 * maxBoxes);
const mirroredMaps: Variant = async (data, item) => {
  const [mirrored] = otherViews(data.stored, item, 'mirrored');
  if (!mirrored) throw new Error('no mirror image is stored');
  const peaks = averageMirrored(data.stored, item, mirrored);
  return final(await usualScores(data, item, peaks));
};

/** Another size in place of the usual one; the regressions are those of 448 px. */
const alone =
  (side: number): Variant =>
  async (data, item) => {
    const [other] = otherViews(data.stored, item, side);
    if (!other) throw new Error(`no image of ${side} px is stored`);
    return final(await usualScores(data, other));
  };

const edgeCorrections: readonly Correction[] = [
  ...[0.3, 1, 3].map((penalty) => ({ features: 'strips' as const, penalty, share: 0.5, weighted: false })),
  ...[0.3, 1].map((penalty) => ({ features: 'strips' as const, penalty, share: 0.5, weighted: true })),
  { features: 'strips', penalty: 3, share: 1, weighted: false },
  { features: 'votes', penalty: 1, share: 0.5, weighted: false },
  { features: 'votes', penalty: 1, share: 1, weighted: false },
  { features: 'votes and strips', penalty: 1, share: 0.5, weighted: false },
  { features: 'pooled', penalty: 3, share: 0.5, weighted: false },
];

const variants: Record<string, Variant> = {
  'before rescoring': (_, item) => Promise.resolve(aboveMinScore(suppressCovered(item.peaks))),
  'half the margins': withShare(0.5),
  margins: withShare(1),
  'margins by half as much again': withShare(1.5),
  'Lite2 instead': byMaps(second),
  'margins, Lite2 instead': withShare(1, second),
  'Lite0 and Lite2, one layer': byMaps([...first, ...second]),
  'Lite0 and Lite2, mean of logits': byBoth(first, second),
  'Lite0 and Lite2, three factors': byThree,
  'Lite0 and Lite2 at half the size, one layer': byMaps([...first, ...small]),
  'Lite0 and Lite2 at half the size, mean of logits': byBoth(first, small),
  'every label at each peak': everyLabel(first),
  'every label at each peak, Lite0 and Lite2, one layer': everyLabel([...first, ...second]),
  'Lite0, 480 views': byMaps(first, 480),
  'Lite0 and Lite2, one layer, 480 views': byMaps([...first, ...second], 480),
  'Lite0 and Lite2, mean of logits, 480 views': byBoth(first, second, 480),
  ...Object.fromEntries(
    edgeCorrections.map((one): [string, Variant] => {
      const by = one.weighted ? ', weighted by score' : '';
      return [`edges by ${one.features}${by}, penalty ${one.penalty}, share ${one.share}`, corrected(one)];
    }),
  ),
  'edges by strips, weighted by score, penalty 1, share 0.5, then rescored': corrected(
    { features: 'strips', penalty: 1, share: 0.5, weighted: true },
    true,
  ),
  'mirror image, fused': views(['mirrored'], (boxes) => fuseBoxes(boxes)),
  'mirror image, union': views(['mirrored'], union),
  'mirror image, mean of the maps': mirroredMaps,
  'mirror image, voted': views(['mirrored'], voteBoxes),
  'tiles, union': views(['tile'], union),
  'tiles, fused': views(['tile'], (boxes) => fuseBoxes(boxes)),
  'tiles, fused, highest score': views(['tile'], (boxes) => fuseBoxes(boxes, 'highest')),
  'mirror image, fused, highest score': views(['mirrored'], (boxes) => fuseBoxes(boxes, 'highest')),
  'mirror image and tiles, fused': views(['mirrored', 'tile'], (boxes) => fuseBoxes(boxes)),
};

/** Beside the usual size, or in place of it. */
const sizeVariants: Record<string, Variant> = {
  ...Object.fromEntries(
    [224, 320, 384, 512, 576].flatMap((side): [string, Variant][] => [
      [`${side} px alone`, alone(side)],
      [`448 and ${side} px, union`, views([side], union)],
      [`448 and ${side} px, fused`, views([side], (boxes) => fuseBoxes(boxes))],
      [`448 and ${side} px, voted`, views([side], voteBoxes)],
    ]),
  ),
  'margins, 448 and 320 px, fused': views([320], (boxes) => fuseBoxes(boxes), 1),
  'margins, 448, 320 and 576 px, fused': views([320, 576], (boxes) => fuseBoxes(boxes), 1),
  '448, 224 and 320 px, voted': views([224, 320], voteBoxes),
  '448, 320 and 576 px, voted': views([320, 576], voteBoxes),
};

type Pair = readonly [number, number];
const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const deviation = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, one) => sum + (one - mean(values)) ** 2, 0) / (values.length - 1));
const percent = (x: number): string => (100 * x).toFixed(1);
const pair = ([a, b]: Pair): string => `${percent(a)} / ${percent(b)}`;

async function evaluate(data: SetData, variant: Variant): Promise<Pair> {
  const images: EvaluatedImage[] = [];
  const items = data.stored.of('whole');
  for (const item of items) images.push({ truth: item.truth, found: await variant(data, item) });
  const labels = items[0]?.labels ?? 0;
  return [meanAveragePrecision(images, labels, 0.5), meanAveragePrecision(images, labels, 0.75)];
}
/** The best box of each object: mean IoU, and shares of at least 0.5 and 0.75. */
function bestBoxes(items: readonly Item[]): string {
  const best = items.flatMap(({ truth, peaks }) =>
    truth.map((box) => peaks.reduce((most, peak) => Math.max(most, iou(box, peak)), 0)),
  );
  const share = (least: number): string => percent(best.filter((one) => one >= least).length / best.length);
  return `best of the 50 boxes: IoU ${mean(best).toFixed(3)}, ${share(0.5)} / ${share(0.75)} %`;
}

async function printTimes(): Promise<void> {
  const [side, runs] = [448, 15];
  const sizes: readonly (readonly SecondSize[])[] = [[], ['whole'], ['half']];
  for (const chosen of sizes) {
    const graph = featuresGraph(readDetector(), side, chosen);
    const session = await openSession(graph, 1);
    const image = { data: new Float32Array(side * side * 3).fill(90), dims: [1, side, side, 3] };
    const times: number[] = [];
    for (let i = 0; i < runs; i++) {
      const { user, system } = process.cpuUsage();
      await session.run({ image });
      const after = process.cpuUsage();
      times.push((after.user + after.system - user - system) / 1000);
    }
    await session.release();
    const name = chosen.length === 0 ? 'CenterNet and Lite0' : `and Lite2 at ${chosen.join()} size`;
    console.log(
      `${name}: ${(times.toSorted((a, b) => a - b)[runs >> 1] ?? 0).toFixed(0)} CPU ms, ${(graph.length / 1e6).toFixed(1)} MB`,
    );
  }
}

const differences = new Map<string, Pair[]>();
if (flags.times) await printTimes();
else
  for (const set of flags.sets.split(',').map(Number)) {
    const folder = path.join(flags.folder, String(set));
    const trained = await trainDevelopment(set, folder);
    const stored = await StoredFeatures.open(
      trained,
      path.join(folder, 'features'),
      flags.sizes ? ['items', 'scales', 'half'] : ['items'],
    );
    trained.run.prepared.close();
    const fit = new MarginFit();
    for (const { truth, peaks } of stored.of('train').slice(0, usualViews)) fit.add(truth, peaks);
    const [rescorer, edges] = [new Rescorer(stored), new EdgeCorrection(stored)];
    const data: SetData = { stored, rescorer, edges, margins: fit.margins };
    console.log(`set ${set}, margins: ${[...fit.margins].map(percent).join(', ')} %`);
    const usual = await evaluate(data, byMaps(first));
    console.log(`set ${set}, as it is: ${pair(usual)}; ${bestBoxes(stored.of('whole'))}`);
    for (const [name, variant] of Object.entries({ ...variants, ...(flags.sizes ? sizeVariants : {}) })) {
      if (!new RegExp(flags.only).test(name)) continue;
      const [a, b] = await evaluate(data, variant);
      const difference: Pair = [a - usual[0], b - usual[1]];
      differences.set(name, [...(differences.get(name) ?? []), difference]);
      console.log(`set ${set}, ${name}: ${pair([a, b])}; ${pair(difference)}`);
    }
    stored.close();
  }
if (differences.size > 0) console.log('mean difference ± error over the sets:');
for (const [name, found] of differences) {
  const by = (k: 0 | 1): number[] => found.map((one) => one[k]);
  const error = (k: 0 | 1): number => deviation(by(k)) / Math.sqrt(found.length);
  console.log(`${name}: ${pair([mean(by(0)), mean(by(1))])} ± ${pair([error(0), error(1)])}`);
}
