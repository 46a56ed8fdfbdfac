import { PlatformError } from '@platform/contract/errors';
import { errorText } from '@platform/kit';
import type { Clock } from '@platform/kit';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { ModelOrigin } from '../plans/resources.ts';
import { decodePicture } from '../pictures/decoder.ts';
import { resize } from '../pictures/resize.ts';
import type { ModelEngine, Network } from './model-engine.ts';
import type { Model } from './resource.ts';

interface ModelFiles {
  /** Name of the resource, for errors. */
  readonly name: string;
  readonly modelPath: string;
  readonly labelPath: string;
  readonly origin?: ModelOrigin;
}

/**
 * Loads a classification model and tries it once.
 *
 * @throws PlatformError MODEL_UNUSABLE when a file is missing or the network does not fit its labels.
 */
export async function loadModel(
  files: ModelFiles,
  { engine, clock }: { engine: ModelEngine; clock: Clock },
): Promise<{ model: Model; release: () => Promise<void> }> {
  try {
    const labels = readLabels(await readFile(files.labelPath, 'utf8'));
    const network = await engine.load(await readFile(files.modelPath));
    try {
      const outputs = await network.run(new Uint8Array(network.height * network.width * 3));
      if (outputs.length !== labels.length) {
        throw new Error(`it tells ${outputs.length} classes, ${files.labelPath} names ${labels.length}`);
      }
    } catch (error) {
      await network.release();
      throw error;
    }
    const origin = files.origin ?? { model: path.basename(files.modelPath), version: '' };
    return { model: modelOf(network, labels, origin, clock), release: () => network.release() };
  } catch (error) {
    throw new PlatformError('MODEL_UNUSABLE', { name: files.name, problem: errorText(error) }, error);
  }
}

function modelOf(network: Network, labels: readonly string[], origin: ModelOrigin, clock: Clock): Model {
  return {
    origin,
    labels,
    predict: async (bytes, name) => {
      const start = clock.now();
      const { rgb } = resize(decodePicture(bytes, name), network.width, network.height);
      const outputs = await network.run(rgb);
      const best = outputs.indexOf(Math.max(...outputs));
      return {
        label: labels[best] ?? '',
        score: outputs[best] ?? 0,
        probabilities: Object.fromEntries(labels.map((label, i) => [label, outputs[i] ?? 0])),
        ...origin,
        milliseconds: Math.round((clock.now() - start) * 10) / 10,
      };
    },
  };
}

/** One label a line, in the order of the network's classes. */
export function readLabels(text: string): readonly string[] {
  const labels = text.replace(/\r?\n$/, '').split(/\r?\n/);
  if (labels.some((label) => label.trim() === '')) throw new Error('a line of the label file is empty');
  const repeated = labels.find((label, i) => labels.indexOf(label) !== i);
  if (repeated !== undefined) throw new Error(`the label file names "${repeated}" twice`);
  return labels;
}
