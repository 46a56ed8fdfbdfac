/** A model version that a built-in trainer made, as its ONNX file and labels. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { type JobModel, modelFiles } from '@platform/contract/job/job';
import { readInputShape, readModelMetadata } from '@platform/contract/job/model-file';
import { modelKinds } from '@platform/contract/job/model-kinds';
import { describeModel, type ModelDescription } from '@platform/contract/job/model-output';
import { openSession, type Results, type Session } from '@platform/trainer-engine/runtime';

export interface PredictingModel {
  readonly description: ModelDescription;
  readonly labels: readonly string[];
  /** Minimum score of each label. */
  readonly thresholds: readonly number[];
  /** Pixels per edge of its images. */
  readonly side: number;
  run(pixels: Uint8Array): Promise<Results>;
  release(): Promise<void>;
}

/** @throws PlatformError MODEL_CANNOT_SUGGEST */
export async function openModel(
  { name, version }: JobModel,
  folder: string,
  threads: number,
): Promise<PredictingModel> {
  const refused = (problem: string, cause?: unknown): PlatformError =>
    new PlatformError('MODEL_CANNOT_SUGGEST', { modelName: name, version, problem }, cause);
  const read = (file: string): Promise<Buffer> =>
    readFile(path.join(folder, file)).catch((error: unknown) => {
      throw refused(`its archive has no file ${file}`, error);
    });
  const onnx = await read(`${name}.onnx`);
  const text = new TextDecoder('utf-8', { fatal: true }).decode(await read(modelFiles.labels));
  const labels = text.replace(/\r?\n$/, '').split(/\r?\n/);
  const [description, side, session] = await load(onnx, threads).catch((error: unknown) => {
    throw refused(error instanceof Error ? error.message : String(error), error);
  });
  const { thresholds = labels.map(() => modelKinds[description.task].defaultThreshold ?? 0) } = description;
  return {
    description,
    labels,
    thresholds,
    side,
    run: (pixels) => session.run({ image: { data: pixels, dims: [1, side, side, 3] } }),
    release: () => session.release(),
  };
}

async function load(onnx: Uint8Array, threads: number): Promise<[ModelDescription, side: number, Session]> {
  const description = describeModel(readModelMetadata(onnx));
  const [batch, height, width, channels] = readInputShape(onnx, 'image') ?? [];
  if (batch !== 1 || channels !== 3 || height === undefined || height !== width)
    throw new Error('its input "image" is not [1, side, side, 3]');
  return [description, height, await openSession(onnx, threads)];
}
