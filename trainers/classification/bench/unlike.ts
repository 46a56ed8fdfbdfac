// Measures how well the score "unlike anything seen" separates other categories from unseen objects of known labels.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { jobFiles, modelFiles } from '@platform/contract/job/job';
import type { Evaluation } from '@platform/contract/job/evaluation';
import { decode } from '@platform/trainer-engine/images';
import { readEfficientnet } from '@platform/trainer-engine/pretrained/efficientnet';
import { seeded, shuffled } from '@platform/trainer-engine/random';
import { openSession } from '@platform/trainer-engine/runtime';
import sharp from 'sharp';
import { withChosenSplits, writeJobFolder } from '../../engine/test/job-folder.ts';
import { startTrainer } from '../../engine/test/trainer-process.ts';
import { meanDirections, unlikeReferenceOf, unlikeScore, unlikeThreshold } from '../src/unlike.ts';
import type { TrainingFeature, UnlikeReference } from '../src/unlike.ts';
import { clipArt, foldsByGroup, stampCutOuts } from './cut-outs.ts';
import type { CutOut } from './cut-outs.ts';
import { featuresOf } from './features.ts';
import type { ImageFeatures } from './features.ts';
import { testSets } from './sets.ts';
import type { LabelledImage } from './sets.ts';

const side = 224;
const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
/** The probability that a value of `others` is higher than one of `known`. */
function areaUnderCurve(known: readonly number[], others: readonly number[]): number {
  const pairs = others.map((one) => mean(known.map((other) => (one > other ? 1 : one === other ? 0.5 : 0))));
  return mean(pairs);
}
const shareAbove = (scores: readonly number[], threshold: number): number =>
  mean(scores.map((score) => (score > threshold ? 1 : 0)));

/** Deals the labels out to `count` groups, each of which is left out of a training once. */
function labelGroups(labels: readonly string[], count: number): Set<string>[] {
  const order = shuffled(labels, seeded('left out'));
  return Array.from({ length: count }, (_, group) => new Set(order.filter((_label, i) => i % count === group)));
}
const spread = (values: readonly number[]): string =>
  `${mean(values).toFixed(2)} (${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)})`;
const percent = (values: readonly number[]): string => `${(100 * mean(values)).toFixed(0)} %`;

function cutOutSets(): Record<string, CutOut[]> {
  const [eight, many, stamps] = [clipArt(8), clipArt(22), stampCutOuts()];
  if (!eight || !many || !stamps) throw new Error('openclipart-png or tuxpaint-stamps-default is missing');
  return { 'drawings-8': eight, 'drawings-22': many, 'cut-outs-9': stamps };
}

interface Image extends TrainingFeature {
  part: 'train' | 'validation' | 'test' | 'other';
}
const references: Record<string, (images: readonly TrainingFeature[], classes: number) => UnlikeReference> = {
  'means of standardized features (as delivered)': unlikeReferenceOf,
  'means of the features as they are': (images, classes) => {
    const {
      mean: { length },
    } = unlikeReferenceOf(images, classes);
    const plain = { mean: new Float32Array(length), factor: new Float32Array(length).fill(1) };
    return { ...plain, directions: meanDirections(images, plain, classes) };
  },
  'the nearest training image': (images) =>
    unlikeReferenceOf(
      images.map(({ feature }, label) => ({ label, feature })),
      images.length,
    ),
};

/** Splits the cut-outs: `fold` of the known labels is for the test. */
function splitOf(
  cutOuts: readonly CutOut[],
  { others, fold, parts }: Split,
  features: readonly ImageFeatures[],
): Image[] {
  const known = [...new Set(cutOuts.map(({ label }) => label))].filter((label) => !others.has(label));
  const random = seeded('validation', fold);
  return cutOuts.map(({ label }, i) => {
    const isValidation = random() < 1 / 8;
    const ofKnown = parts[i] === fold ? 'test' : isValidation ? 'validation' : 'train';
    const feature = features[i]?.last ?? new Float32Array();
    return { part: others.has(label) ? 'other' : ofKnown, label: known.indexOf(label), feature };
  });
}
interface Split {
  others: ReadonlySet<string>;
  fold: number;
  parts: readonly number[];
}

/** Frozen network: a quarter of the categories is left out, and one fold of the others by group. */
export async function measureUnlike(folds: number): Promise<void> {
  const backbone = readEfficientnet();
  for (const [name, cutOuts] of Object.entries(cutOutSets())) {
    const draw = async (i: number, into: Float32Array): Promise<void> => {
      into.set(await decode(cutOuts[i]?.file ?? '', side));
    };
    const features = await featuresOf(backbone, side, name, cutOuts.length, draw);
    const labels = [...new Set(cutOuts.map(({ label }) => label))];
    const parts = foldsByGroup(cutOuts, folds, 1);
    const splits = labelGroups(labels, 4).flatMap((others) =>
      Array.from({ length: folds }, (_, fold) => ({
        images: splitOf(cutOuts, { others, fold, parts }, features),
        classes: labels.length - others.size,
      })),
    );
    for (const [what, referenceOf] of Object.entries(references)) {
      const figures = splits.map(({ images, classes }) => {
        const of = (part: Image['part']): Image[] => images.filter((one) => one.part === part);
        const reference = referenceOf(of('train'), classes);
        const scores = (part: Image['part']): number[] =>
          of(part).map(({ feature }) => unlikeScore(reference, feature));
        const [known, other, threshold = Infinity] = [
          scores('test'),
          scores('other'),
          unlikeThreshold(scores('validation')),
        ];
        return [areaUnderCurve(known, other), shareAbove(known, threshold), shareAbove(other, threshold)] as const;
      });
      const [areas, rejected, found] = [0, 1, 2].map((at) => figures.map((one) => one[at] ?? 0));
      console.log(
        `${name}, frozen, ${what}: AUROC ${spread(areas ?? [])}; above the threshold: ${percent(rejected ?? [])} of unseen objects of known labels, ${percent(found ?? [])} of other categories`,
      );
    }
  }
}

/** Drawings on white squares; one fold by group is for the test. */
async function* drawings(): AsyncGenerator<LabelledImage> {
  const cutOuts = cutOutSets()['drawings-8'] ?? [];
  const parts = foldsByGroup(cutOuts, 4, 1);
  for (const [i, { label, file }] of cutOuts.entries()) {
    const bytes = await sharp(file)
      .ensureAlpha()
      .resize(side, side, { fit: 'contain', background: '#ffffff00' })
      .flatten({ background: '#fff' })
      .png()
      .toBuffer();
    yield { name: `${label}-${i}.png`, split: parts[i] === 0 ? 'test' : 'train', labels: [label], bytes };
  }
}

async function imagesOf(name: string): Promise<LabelledImage[]> {
  if (name === 'drawings-8') return Array.fromAsync(drawings());
  const set = testSets[name];
  const images = set && (await set.images({ ...set, seed: 1 }));
  if (!images) throw new Error(`${name} is not available`);
  return Array.fromAsync(images);
}

interface Scores {
  unlike: number;
  /** 1 − the highest probability. */
  unsure: number;
}
/** By the ONNX file of a job. */
async function scoresOf(out: string, evaluation: Evaluation, images: readonly LabelledImage[]): Promise<Scores[]> {
  const session = await openSession(await readFile(path.join(out, evaluation.model.file)), 2);
  const edge = evaluation.side;
  const scores: Scores[] = [];
  for (const { bytes } of images) {
    const data = await sharp(bytes).removeAlpha().resize(edge, edge, { fit: 'fill' }).raw().toBuffer();
    const results = await session.run({ image: { data, dims: [1, edge, edge, 3] } });
    scores.push({ unlike: results('unlike')[0] ?? 0, unsure: 1 - Math.max(...results('probability')) });
  }
  await session.release();
  return scores;
}

interface Trial {
  what: string;
  /** Training images, and test images of known labels. */
  known: readonly LabelledImage[];
  others: readonly LabelledImage[];
}
/** `first:second`: trains on the first set, and the others are of the second. A name alone: leaves out half of its labels. */
async function trialsOf(name: string): Promise<Trial[]> {
  const [first = '', second] = name.split(':');
  const images = await imagesOf(first);
  if (second !== undefined)
    return [{ what: `${first}, others of ${second}`, known: images, others: await imagesOf(second) }];
  const labels = [...new Set(images.flatMap((one) => one.labels))];
  return labelGroups(labels, 2).map((left) => {
    const isLeft = ({ labels: [label = ''] }: LabelledImage): boolean => left.has(label);
    const known = images.filter((one) => !isLeft(one));
    return { what: `${first} without ${[...left].join(', ')}`, known, others: images.filter(isLeft) };
  });
}

/** The trainer as it is; its ONNX file scores the test images. */
export async function measureTrainedUnlike(sets: readonly string[]): Promise<void> {
  for (const name of sets) for (const trial of await trialsOf(name)) await measureTrial(trial);
}

async function measureTrial({ what, known, others }: Trial): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'bench-unlike-'));
  try {
    const limits = { wall_seconds: 3600, memory_mib: 4096, disk_mib: 4096 };
    const job = { kind: 'single_label_classification', model_name: 'unlike', arguments: {}, seed: 1, limits } as const;
    await writeJobFolder(folder, job, known, withChosenSplits);
    const { code, stderr } = await startTrainer(new URL('../src/main.ts', import.meta.url), folder).ended;
    if (code !== 0) throw new Error(stderr);
    const out = path.join(folder, jobFiles.out);
    const evaluation = JSON.parse(await readFile(path.join(out, modelFiles.evaluation), 'utf8')) as Evaluation;
    const ofTest = (images: readonly LabelledImage[]): LabelledImage[] =>
      images.filter(({ split }) => split === 'test');
    const [right, wrong] = [
      await scoresOf(out, evaluation, ofTest(known)),
      await scoresOf(out, evaluation, ofTest(others)),
    ];
    const area = (key: keyof Scores): string =>
      areaUnderCurve(
        right.map((one) => one[key]),
        wrong.map((one) => one[key]),
      ).toFixed(2);
    const { threshold = 0, chosen_count: chosenBy } = evaluation.unlike ?? {};
    const above = (scores: readonly Scores[]): string =>
      `${scores.filter(({ unlike }) => unlike > threshold).length} of ${scores.length}`;
    console.log(
      `${what}: ${evaluation.chosen}, accuracy ${(100 * evaluation.accuracy).toFixed(1)} %; AUROC ${area('unlike')}, by the highest probability ${area('unsure')}; above the threshold (by ${chosenBy} images): ${above(right)} test images of known labels, ${above(wrong)} of the others`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
