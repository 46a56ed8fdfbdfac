/** Detectors of the development sets: trained once, with the weights in a folder for later comparisons. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { jobFiles, parseJobSpec } from '@platform/contract/job/job';
import { systemClock } from '@platform/trainer-engine/clock';
import { localDevices } from '@platform/trainer-engine/device';
import { Progress } from '@platform/trainer-engine/progress';
import type { Training } from '@platform/trainer-engine/training';
import { writeJobFolder } from '../../engine/test/job-folder.ts';
import { readDetector } from '../src/feature-maps.ts';
import type { Weights } from '../src/head.ts';
import { prepare } from '../src/prepare.ts';
import { recipeOf } from '../src/recipe.ts';
import { trainModel } from '../src/train-model.ts';
import type { TrainingRun } from '../src/training-run.ts';
import { composeDetection, fiveKindsForDevelopment } from './sets.ts';

const threads = 2;
const counts = { train: 200, test: 160 };

export interface TrainedDetector {
  run: TrainingRun;
  weights: Weights;
}

const encoded = (values: Float32Array): string => Buffer.from(values.buffer).toString('base64');
const decoded = (text: string): Float32Array => new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer);

/** @param folder - keeps the set and the weights; an interrupted training starts again. */
export async function trainDevelopment(set: number, folder: string): Promise<TrainedDetector> {
  const material = await fiveKindsForDevelopment(set);
  if (material === undefined) throw new Error("Debian's packages of the cut-outs are not available here");
  if (!existsSync(path.join(folder, jobFiles.job))) {
    mkdirSync(folder, { recursive: true });
    const limits = { wall_seconds: 7200, memory_mib: 4096, disk_mib: 8192 };
    const job = { kind: 'object_detection' as const, model_name: 'detector', arguments: {}, seed: 1, limits };
    await writeJobFolder(folder, job, composeDetection(material, counts, 100 + set));
  }
  const job = parseJobSpec(JSON.parse(readFileSync(path.join(folder, jobFiles.job), 'utf8')));
  const training: Training = {
    job,
    datasetFile: path.join(folder, jobFiles.dataset),
    outFolder: folder,
    events: { emit: () => {}, close: () => {} },
    clock: systemClock,
    threads,
    signal: new AbortController().signal,
    devices: localDevices(threads),
  };
  const { recipe } = recipeOf(job);
  const tmp = path.join(folder, 'tmp');
  rmSync(tmp, { recursive: true, force: true });
  mkdirSync(tmp);
  const prepared = await prepare(training, recipe, tmp, { found: () => {}, decoded: () => {}, compared: () => {} });
  const weightsFile = path.join(folder, 'weights.json');
  const device = { place: 'cpu', name: 'cpu', reason: '', isFallback: false } as const;
  const progress = new Progress(training.events, systemClock);
  const run: TrainingRun = { training, device, recipe, detector: readDetector(), prepared, progress, tmp };
  if (!existsSync(weightsFile)) {
    const trained = await trainModel(run);
    await trained.release();
    const chosen = [...(trained.weights.get(trained.chosen) ?? [])];
    writeFileSync(
      weightsFile,
      JSON.stringify(Object.fromEntries(chosen.map(([name, values]) => [name, encoded(values)]))),
    );
  }
  const stored = JSON.parse(readFileSync(weightsFile, 'utf8')) as Record<string, string>;
  const weights = new Map(Object.entries(stored).map(([name, text]) => [name, decoded(text)]));
  return { run, weights };
}
