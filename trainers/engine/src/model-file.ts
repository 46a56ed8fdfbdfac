/** Writes model files and their metadata. */
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JobSpec } from '@platform/contract/job/job';

export interface ModelOnDisk {
  file: string;
  size_bytes: number;
  sha256: string;
}
/** The ONNX file always exists, because the trainer measures it. */
export interface ModelsOnDisk {
  onnx: ModelOnDisk;
  tflite: ModelOnDisk | undefined;
}

export async function writeModel(folder: string, file: string, bytes: Uint8Array): Promise<ModelOnDisk> {
  await writeFile(path.join(folder, file), bytes);
  return { file, size_bytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('hex') };
}

export const writeModels = async (
  folder: string,
  name: string,
  { onnx, tflite }: { onnx: Uint8Array; tflite: Uint8Array | undefined },
): Promise<ModelsOnDisk> => ({
  onnx: await writeModel(folder, `${name}.onnx`, onnx),
  tflite: tflite && (await writeModel(folder, `${name}.tflite`, tflite)),
});

/**
 * Frees the memory of an array that is not used again, such as the bytes of a model: V8's garbage collection comes after
 * the next session has taken as much. A small Buffer shares its memory with others, so it stays.
 */
export function releaseArray({ buffer, byteLength }: Pick<ArrayBufferView, 'buffer' | 'byteLength'>): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0);
}

/** Metadata of the model files, as text by name. */
export function metadataOf(
  job: Pick<JobSpec, 'kind' | 'model_version' | 'dataset_id' | 'dataset_version_id'>,
  labels: readonly string[],
  thresholds: readonly number[] | undefined,
): Record<string, string> {
  return {
    labels: labels.join('\n'),
    task: job.kind,
    created_by: 'platform',
    model_version: job.model_version,
    ...(thresholds === undefined ? {} : { thresholds: thresholds.join('\n') }),
    ...(job.dataset_id === undefined ? {} : { dataset_id: job.dataset_id }),
    ...(job.dataset_version_id === undefined ? {} : { dataset_version_id: job.dataset_version_id }),
  };
}
