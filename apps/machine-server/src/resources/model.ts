import { PlatformError } from '@platform/contract/errors/errors';
import { readModelMetadata } from '@platform/contract/job/model-file';
import { modelKinds } from '@platform/contract/job/model-kinds';
import { describeModel, unlikeOutput } from '@platform/contract/job/model-output';
import type { ModelDescription } from '@platform/contract/job/model-output';
import { errorText } from '@platform/kit';
import type { Clock } from '@platform/kit';
import { readText } from '@platform/kit/node';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ModelOrigin } from '../plans/resources.ts';
import { decodeImage } from '../images/decoder.ts';
import type { JpegCodec } from '../images/jpeg-codec.ts';
import { resize } from '../images/resize.ts';
import type { ModelEngine, Network } from './model-engine.ts';
import { checkOutputs, readOutputs } from './prediction.ts';
import type { OutputReader } from './prediction.ts';
import type { Model } from './resource.ts';

interface ModelFiles {
  /** Name of the resource, for errors. */
  readonly name: string;
  readonly modelPath: string;
  readonly labelPath: string;
  readonly origin?: ModelOrigin;
  readonly rejectUnlike?: true;
}

interface ModelDeps {
  readonly engine: ModelEngine;
  readonly jpeg: JpegCodec;
  readonly clock: Clock;
}

/**
 * Loads a model and runs it once. The metadata of its file determines whether it classifies or detects.
 *
 * @throws PlatformError MODEL_UNUSABLE when a file is missing or the network does not match its labels;
 *   MODEL_WITHOUT_UNLIKE when it is to reject images and has no score for that.
 */
export async function loadModel(
  files: ModelFiles,
  { engine, jpeg, clock }: ModelDeps,
): Promise<{ model: Model; release: () => Promise<void> }> {
  try {
    const labels = readLabels(await readText(files.labelPath));
    const onnx = await readFile(files.modelPath);
    const description = describeModel(readModelMetadata(onnx));
    const rejectAbove = files.rejectUnlike ? unlikeThresholdOf(description, files.name) : undefined;
    const { outputs: usual } = modelKinds[description.task];
    const network = await engine.load(onnx, rejectAbove === undefined ? usual : [...usual, unlikeOutput]);
    const reader = { labels, description, ...(rejectAbove !== undefined && { rejectAbove }) };
    try {
      const outputs = await network.run(() => new Uint8Array(network.height * network.width * 3));
      checkOutputs(outputs, reader, files.labelPath);
    } catch (error) {
      await network.release();
      throw error;
    }
    const origin = files.origin ?? { model: path.basename(files.modelPath), version: '' };
    return { model: modelOf(network, { reader, origin, jpeg, clock }), release: () => network.release() };
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    throw new PlatformError('MODEL_UNUSABLE', { name: files.name, problem: errorText(error) }, error);
  }
}

function unlikeThresholdOf({ task, unlikeThreshold }: ModelDescription, name: string): number {
  if (unlikeThreshold !== undefined) return unlikeThreshold;
  const problem =
    task === 'single_label_classification'
      ? 'its file has no score for that, because another program made it'
      : `models of the task ${task} have no score for that`;
  throw new PlatformError('MODEL_WITHOUT_UNLIKE', { name, problem });
}

function modelOf(
  network: Network,
  of: { reader: OutputReader; origin: ModelOrigin } & Pick<ModelDeps, 'jpeg' | 'clock'>,
): Model {
  const { reader, origin, jpeg, clock } = of;
  return {
    origin,
    labels: reader.labels,
    predict: async (bytes, name) => {
      const start = clock.now();
      const read = async () => resize(await decodeImage(bytes, name, jpeg), network.width, network.height).rgb;
      const reading = readOutputs(await network.run(read), reader);
      return { ...reading, ...origin, milliseconds: Math.round((clock.now() - start) * 10) / 10 };
    },
  };
}

/** Parses one label per line, in the order of the network's classes. */
export function readLabels(text: string): readonly string[] {
  const labels = text.replace(/\r?\n$/, '').split(/\r?\n/);
  if (labels.some((label) => label.trim() === '')) throw new Error('a line of the label file is empty');
  const repeated = labels.find((label, i) => labels.indexOf(label) !== i);
  if (repeated !== undefined) throw new Error(`the label file names "${repeated}" twice`);
  return labels;
}
