/**
 * Compares heads on objects that no training image shows: frozen features, cross-validated by groups of cut-outs. Sets
 * for development only. Prints means ± standard errors.
 *   node unseen.ts --what=one [--folds=5]          one label: last layer beside three layers, drawings
 *   node unseen.ts --what=several [--seeds=1]      several labels: thresholds of the window head
 *   node unseen.ts --what=unlike [--folds=5]       images of other categories, with the frozen network
 *   node unseen.ts --what=unlike-trained [--sets=stamps-9,kept-apart,drawings-8]   the same with trained models;
 *     SET:OTHER: images of another set
 *   node unseen.ts --what=networks [--folds=5]     one label: Lite0, Lite2 and both side by side, by side of the image
 */
import { parseArgs } from 'node:util';
import { needed } from '@platform/trainer-engine/network/layers';
import { emitOnnx } from '@platform/trainer-engine/network/onnx';
import { FLOAT, Graph } from '@platform/trainer-engine/onnx/graph';
import { decode, identityAugmentation, renderAugmentation } from '@platform/trainer-engine/images';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { sideBySide } from '@platform/trainer-engine/pretrained/side-by-side';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import sharp from 'sharp';
import { randomAugmentation } from '../src/augment.ts';
import { atTemperature, calibrationError, chooseTemperature } from '../src/calibration.ts';
import { labelWeights } from '../src/dataset.ts';
import { headOf } from '../src/head.ts';
import type { Head, OutputKind, Weights } from '../src/head.ts';
import { ProbeFeatures, trainLinearProbe } from '../src/linear-probe.ts';
import { chooseThresholds, multiLabelScoreOf } from '../src/multi-score.ts';
import { argmax } from '../src/score.ts';
import type { EvaluatedImage } from '../src/score.ts';
import { composed, photographs } from './composites.ts';
import type { Part } from './composites.ts';
import { clipArt, foldsByGroup, stampCutOuts } from './cut-outs.ts';
import type { CutOut } from './cut-outs.ts';
import { cpuMsOf, featuresOf } from './features.ts';
import type { ImageFeatures } from './features.ts';
import { measureTrainedUnlike, measureUnlike } from './unlike.ts';

const { values: flags } = parseArgs({
  options: {
    what: { type: 'string', default: 'one' },
    folds: { type: 'string', default: '5' },
    seeds: { type: 'string', default: '1' },
    sets: { type: 'string', default: 'stamps-9,kept-apart,drawings-8' },
  },
});
const backbone = readEfficientnet();
type Row = readonly Float32Array[];

const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
const standardError = (values: readonly number[]): number =>
  Math.sqrt(values.reduce((sum, one) => sum + (one - mean(values)) ** 2, 0) / values.length / (values.length - 1));

interface Fit {
  head: Head;
  output: OutputKind;
  l2: number;
}
async function fitted(
  { head, output, l2 }: Fit,
  rows: readonly Row[],
  targets: number[][],
  weights: number[][],
): Promise<Weights> {
  const features = new ProbeFeatures(head, rows.length);
  for (const [i, row] of rows.entries()) features.set(i, row);
  return trainLinearProbe({ features, targets, weights }, head, { output, l2 });
}

/** Logits by the exported layers. @param head - with its weights. */
async function logitsOf(head: Head, rows: readonly Row[]): Promise<Float32Array[]> {
  const graph = new Graph();
  const values = new Map(head.features.map(({ value }, i) => [value, `feature${i}`]));
  const dims = head.features.map(({ parts, edge }) => [1, parts.reduce((a, b) => a + b), edge, edge]);
  for (const [i, shape] of dims.entries()) graph.inputs.push({ name: `feature${i}`, type: FLOAT, dims: shape });
  emitOnnx(graph, needed(head.layers, [head.logits], values), values);
  graph.op('Identity', [values.get(head.logits) ?? ''], {}, 'logits');
  graph.outputs.push({ name: 'logits', type: FLOAT });
  const session = await openSession(graph.encode(), 1);
  const outputs: Float32Array[] = [];
  for (const row of rows) {
    const feeds = row.map((data, i) => [`feature${i}`, { data, dims: dims[i] ?? [] }] as const);
    outputs.push(Float32Array.from((await session.run(Object.fromEntries(feeds)))('logits')));
  }
  await session.release();
  return outputs;
}

const cellMeans = (cells: Float32Array, channels: number): Float32Array =>
  Float32Array.from({ length: channels }, (_, c) => {
    const positions = cells.length / channels;
    return mean([...cells.subarray(c * positions, (c + 1) * positions)]);
  });

/** A linear head on means of features. @param parts - channels by layer. */
const linearHead =
  (parts: readonly number[]) =>
  (classes: number, weights: Weights = new Map()): Head => {
    const size = parts.reduce((a, b) => a + b);
    const plain = { is: 'conv', depthwise: false, stride: 1, relu: false } as const;
    const w = weights.get('W') ?? new Float32Array(classes * size);
    const bias = weights.get('B') ?? new Float32Array(classes);
    return {
      layers: [{ ...plain, input: 1, output: 2, dims: [classes, size, 1, 1], weights: w, bias }],
      features: [{ value: 1, parts, edge: 1 }],
      logits: 2,
      parameters: [{ name: 'W', shape: [classes, size, 1, 1] }],
    };
  };

/** Share of unseen objects named rightly, by image. */
async function rightBy(
  headFor: (classes: number, weights?: Weights) => Head,
  rows: readonly Row[],
  cutOuts: readonly CutOut[],
  folds: readonly number[],
): Promise<number[]> {
  const labels = [...new Set(cutOuts.map(({ label }) => label))];
  const right = cutOuts.map(() => 0);
  for (const fold of new Set(folds)) {
    const inFold = cutOuts.map((_, i) => folds[i] === fold);
    const training = cutOuts.flatMap(({ label }, i) => (inFold[i] ? [] : [{ label, row: rows[i] ?? [] }]));
    const head = { head: headFor(labels.length), output: 'softmax', l2: 1e-3 } as const;
    const weights = await fitted(
      head,
      training.map(({ row }) => row),
      training.map(({ label }) => labels.map((one) => (one === label ? 1 : 0))),
      training.map(() => [1]),
    );
    const tested = [...cutOuts.keys()].filter((i) => inFold[i]);
    const logits = await logitsOf(
      headFor(labels.length, weights),
      tested.map((i) => rows[i] ?? []),
    );
    for (const [at, i] of tested.entries()) {
      right[i] = labels[argmax(logits[at] ?? new Float32Array())] === cutOuts[i]?.label ? 1 : 0;
    }
  }
  return right;
}

async function measureOne(): Promise<void> {
  const [side, folds] = [224, Number(flags.folds)];
  for (const [name, cutOuts] of Object.entries({ 'drawings-8': clipArt(8), 'drawings-22': clipArt(22) })) {
    if (!cutOuts) throw new Error('openclipart-png is missing');
    const draw = async (i: number, into: Float32Array): Promise<void> => {
      into.set(await decode(cutOuts[i]?.file ?? '', side));
    };
    const features = await featuresOf(backbone, side, name, cutOuts.length, draw);
    const last = features.map((one) => [one.last]);
    const three = features.map((one) => [Float32Array.of(...one.last, ...cellMeans(one.cells, 304))]);
    const parts = foldsByGroup(cutOuts, folds, 1);
    const before = await rightBy(linearHead([backbone.features]), last, cutOuts, parts);
    const after = await rightBy(linearHead([backbone.features, 112, 192]), three, cutOuts, parts);
    const gains = after.map((one, i) => one - (before[i] ?? 0));
    console.log(
      `${name}: ${cutOuts.length} images, last layer ${(100 * mean(before)).toFixed(1)} ± ${(100 * standardError(before)).toFixed(1)} %, ` +
        `three layers ${(100 * mean(after)).toFixed(1)} %, gain ${(100 * mean(gains)).toFixed(1)} ± ${(100 * standardError(gains)).toFixed(1)}`,
    );
  }
}

/** The networks that are compared: their rows out of the features of both, by side of the image in pixels. */
const compared: Readonly<Record<string, readonly (readonly [network: 'Lite0' | 'Lite2', side: number])[]>> = {
  'Lite0 224': [['Lite0', 224]],
  'Lite0 288': [['Lite0', 288]],
  'Lite2 224': [['Lite2', 224]],
  'Lite2 256': [['Lite2', 256]],
  'Lite2 288': [['Lite2', 288]],
  'Lite0 224 + Lite2 224': [
    ['Lite0', 224],
    ['Lite2', 224],
  ],
  'Lite0 224 + Lite2 256': [
    ['Lite0', 224],
    ['Lite2', 256],
  ],
  'Lite0 256 + Lite2 256': [
    ['Lite0', 256],
    ['Lite2', 256],
  ],
  'Lite0 288 + Lite2 288': [
    ['Lite0', 288],
    ['Lite2', 288],
  ],
};

async function measureNetworks(): Promise<void> {
  const networks = { Lite0: backbone, Lite2: readEfficientnet('Lite2') };
  const both = sideBySide(networks.Lite0, networks.Lite2);
  const sides = [224, 256, 288];
  for (const side of sides) {
    const times: [string, number][] = [];
    for (const [network, one] of Object.entries({ ...networks, both })) times.push([network, await cpuMsOf(one, side)]);
    console.log(`${side} px, CPU ms of an image: ${JSON.stringify(Object.fromEntries(times))}`);
  }
  const sets = { 'stamps-9': stampCutOuts(), 'drawings-8': clipArt(8), 'drawings-22': clipArt(22) };
  for (const [name, cutOuts] of Object.entries(sets)) {
    if (!cutOuts) throw new Error(`the package of ${name} is missing`);
    const found = new Map<number, readonly ImageFeatures[]>();
    for (const side of sides) {
      const draw = async (i: number, into: Float32Array): Promise<void> => {
        into.set(await decode(cutOuts[i]?.file ?? '', side));
      };
      found.set(side, await featuresOf(both, side, name, cutOuts.length, draw));
    }
    const partOf = (i: number, network: 'Lite0' | 'Lite2', side: number): Float32Array => {
      const last = found.get(side)?.[i]?.last ?? new Float32Array();
      const { features } = networks.Lite0;
      return network === 'Lite0' ? last.subarray(0, features) : last.subarray(features);
    };
    const folds = foldsByGroup(cutOuts, Number(flags.folds), 1);
    let before: readonly number[] | undefined;
    for (const [title, parts] of Object.entries(compared)) {
      const rows = cutOuts.map((_, i) => [
        Float32Array.from(parts.flatMap(([network, side]) => [...partOf(i, network, side)])),
      ]);
      const right = await rightBy(
        linearHead(parts.map(([network]) => networks[network].features)),
        rows,
        cutOuts,
        folds,
      );
      before ??= right;
      const gains = right.map((one, i) => one - (before?.[i] ?? 0));
      const [share, gain, error] = [mean(right), mean(gains), standardError(gains)].map((x) => (100 * x).toFixed(1));
      console.log(`${name}, ${cutOuts.length} images: ${title}: ${share} %, beside Lite0 224 ${gain} ± ${error}`);
    }
  }
}

const stampLabels = ['bird', 'flower', 'fruit', 'insect', 'mammal', 'vehicle'];
const several = {
  train: { objects: 'seen', part: 'train', count: 150, copies: 3 },
  both: { objects: 'unseen', part: 'test', count: 100, copies: 0 },
  objects: { objects: 'unseen', part: 'train', count: 100, copies: 0 },
  grounds: { objects: 'seen', part: 'test', count: 100, copies: 0 },
} as const;
type Several = keyof typeof several;
interface Composites {
  classes: readonly (readonly number[])[];
  features: readonly ImageFeatures[];
}

/** Composites of one to three of six categories, with copies that are augmented as for the probe. */
async function composites(seed: number, name: Several, side: number): Promise<Composites> {
  const { objects, part, count, copies } = several[name];
  const [cutOuts, backgrounds] = [stampCutOuts(stampLabels), await photographs()];
  if (!cutOuts || !backgrounds) throw new Error('tuxpaint-stamps-default or gcompris-qt-data is missing');
  const folds = foldsByGroup(cutOuts, 3, seed);
  const own = cutOuts.filter((_, i) => (folds[i] === 0) === (objects === 'unseen'));
  const views = seeded('views', seed);
  const large = Math.round(side * 1.15);
  const labelsOf = (number: number): { labels: string[]; random: () => number } => {
    const random = seeded('unseen multi', seed, name, number);
    const many = 1 + Math.floor(random() * 3);
    return { labels: shuffled(stampLabels, random).slice(0, many), random };
  };
  let pixels = new Uint8Array();
  const draw = async (i: number, into: Float32Array): Promise<void> => {
    if (i % (copies + 1) === 0) {
      const { labels, random } = labelsOf(Math.floor(i / (copies + 1)));
      const things = labels.flatMap((label) => {
        const some = own.filter((one) => one.label === label);
        return some.slice(Math.floor(random() * some.length)).slice(0, 1);
      });
      const material = { things, backgrounds, size: [0.3, 0.6], turn: 15 } as const;
      const jpeg = await composed(things, material, part satisfies Part, random);
      const at = (edge: number): Promise<Uint8Array> =>
        sharp(jpeg).removeAlpha().resize(edge, edge, { fit: 'fill' }).raw().toBuffer();
      pixels = await at(large);
      renderAugmentation(await at(side), side, identityAugmentation(side), into, 0, side);
    } else {
      const view = randomAugmentation(large, { area: 0.75, stretch: 0.2, colour: 0.25, turn: 0 }, views);
      renderAugmentation(pixels, large, view, into, 0, side);
    }
  };
  const rows = count * (copies + 1);
  const features = await featuresOf(backbone, side, `several ${seed} ${name}`, rows, draw);
  const classes = Array.from({ length: rows }, (_, i) =>
    labelsOf(Math.floor(i / (copies + 1))).labels.map((label) => stampLabels.indexOf(label)),
  );
  return { classes, features };
}

const targetsOf = (classes: readonly (readonly number[])[]): number[][] =>
  classes.map((own) => stampLabels.map((_, k) => (own.includes(k) ? 1 : 0)));
const sigmoid = (z: number): number => 1 / (1 + Math.exp(-z));

/** The threshold that gives each label about as many images as it has in training. */
function priorThresholds(evaluated: readonly EvaluatedImage[], classes: readonly (readonly number[])[]): number[] {
  return stampLabels.map((_, k) => {
    const share = classes.filter((own) => own.includes(k)).length / classes.length;
    const sorted = evaluated.map(({ probabilities }) => probabilities[k] ?? 0).toSorted((a, b) => b - a);
    return sorted[Math.floor(share * sorted.length)] ?? 0.5;
  });
}

/** Notes the figures of one sort of test images. */
function noteFigures(
  images: readonly EvaluatedImage[],
  validation: readonly EvaluatedImage[],
  trainClasses: Composites['classes'],
  note: (what: string, value: number) => void,
): void {
  const chosen = chooseThresholds(validation, stampLabels.length);
  const temperature = chooseTemperature(validation, 'sigmoid');
  const f1 = (thresholds: readonly number[]): number => multiLabelScoreOf(images, thresholds).micro_f1;
  const rules: Record<string, readonly number[]> = {
    'best single one (not to be had)': stampLabels.map(() => 0.5),
    'by validation': chosen,
    'half by validation': chosen.map((one) => (one + 0.5) / 2),
    'always 0.5': stampLabels.map(() => 0.5),
    'by the prior': priorThresholds(images, trainClasses),
  };
  const calibrated = images.map(({ classes, probabilities }) => ({
    classes,
    probabilities: atTemperature(probabilities, 'sigmoid', temperature),
  }));
  note('temperature', temperature);
  note('calibration error', calibrationError(images, 'sigmoid'));
  note('calibration error at the temperature', calibrationError(calibrated, 'sigmoid'));
  note('mAP', multiLabelScoreOf(images, chosen).mean_average_precision);
  for (const [rule, thresholds] of Object.entries(rules)) {
    const best = rule.startsWith('best')
      ? Math.max(...Array.from({ length: 49 }, (_, i) => f1(stampLabels.map(() => (i + 1) / 50))))
      : f1(thresholds);
    note(`F1 ${rule}`, best);
  }
}

async function measureSeveral(): Promise<void> {
  const side = 288;
  const found = new Map<string, number[]>();
  for (const seed of flags.seeds.split(',').map(Number)) {
    const sets = {} as Record<Several, Composites>;
    for (const name of Object.keys(several) as Several[]) sets[name] = await composites(seed, name, side);
    const { train } = sets;
    const step = several.train.copies + 1;
    // One in eight images validates, with objects that training shows, as in a job.
    const validates = (i: number): boolean => Math.floor(i / step) % 8 === 0;
    const rowOf = ({ last, cells }: ImageFeatures): Row => [last, cells];
    const learned = train.features.flatMap((one, i) =>
      validates(i) ? [] : [{ row: rowOf(one), classes: train.classes[i] ?? [] }],
    );
    const positive = labelWeights(
      learned.map(({ classes }) => ({ classes })),
      stampLabels.length,
    );
    const geometry = { side, classes: stampLabels.length };
    const weights = await fitted(
      { head: headOf(backbone, 'sigmoid', geometry), output: 'sigmoid', l2: 3e-4 },
      learned.map(({ row }) => row),
      targetsOf(learned.map(({ classes }) => classes)),
      learned.map(({ classes }) => positive.map((weight, k) => (classes.includes(k) ? weight : 1))),
    );
    const head = headOf(backbone, 'sigmoid', geometry, weights);
    const evaluated = async ({ classes, features }: Composites, keep: (i: number) => boolean) => {
      const kept = [...features.keys()].filter(keep);
      const rows = kept.map((i) => features[i]).filter((one) => one !== undefined);
      const logits = await logitsOf(head, rows.map(rowOf));
      return kept.map((i, at) => ({
        classes: classes[i] ?? [],
        probabilities: (logits[at] ?? new Float32Array()).map(sigmoid),
      }));
    };
    const validation = await evaluated(train, (i) => validates(i) && i % step === 0);
    for (const name of ['both', 'objects', 'grounds'] as const) {
      noteFigures(await evaluated(sets[name], () => true), validation, train.classes, (what, value) => {
        const key = `${name}, ${what}`;
        found.set(key, [...(found.get(key) ?? []), value]);
      });
    }
  }
  for (const [what, values] of found) {
    const error = values.length > 1 ? ` ± ${standardError(values).toFixed(3)}` : '';
    console.log(`${what}: ${mean(values).toFixed(3)}${error}`);
  }
}

if (flags.what === 'several') await measureSeveral();
else if (flags.what === 'unlike') await measureUnlike(Number(flags.folds));
else if (flags.what === 'unlike-trained') await measureTrainedUnlike(flags.sets.split(','));
else if (flags.what === 'networks') await measureNetworks();
else await measureOne();
