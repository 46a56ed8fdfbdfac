/** Forward passes of the network, in batches. */
import type { Parameter } from '@platform/trainer-engine/autodiff/tape';
import type { Feed, Session } from '@platform/trainer-engine/runtime';
import type { Weights } from './network.ts';

export interface InferenceNetwork {
  session: Session;
  batch: number;
  side: number;
  features: number;
  classes: number;
}

/** @param weights - a missing one has the value of its parameter. */
export function parameterFeeds(parameters: ReadonlyMap<string, Parameter>, weights?: Weights): Record<string, Feed> {
  const feeds: Record<string, Feed> = {};
  for (const [name, { values, shape }] of parameters) {
    feeds[name] = { data: weights?.get(name) ?? values, dims: shape };
  }
  return feeds;
}

export interface InferenceResult {
  pooled: Float32Array;
  logits: Float32Array;
}

/**
 * @param fixed - all parameters of the network.
 * @param count - number of images; `draw` writes image `i` (side × side × 3 values 0..255) into `into` from
 *   `offset`.
 * @param seen - receives the results; it may keep the arrays.
 */
export async function infer(
  { session, batch, side, features, classes }: InferenceNetwork,
  fixed: Readonly<Record<string, Feed>>,
  count: number,
  draw: (i: number, into: Float32Array, offset: number) => void,
  seen: (i: number, look: InferenceResult) => void,
  { signal, onDone }: { signal: AbortSignal; onDone?: (share: number) => void },
): Promise<void> {
  const image = new Float32Array(batch * side * side * 3);
  for (let start = 0; start < count; start += batch) {
    signal.throwIfAborted();
    const size = Math.min(batch, count - start);
    for (let i = 0; i < size; i++) draw(start + i, image, i * side * side * 3);
    const results = await session.run({ ...fixed, image: { data: image, dims: [batch, side, side, 3] } });
    const [pooled, logits] = [results('pooled'), results('logits')];
    for (let i = 0; i < size; i++) {
      seen(start + i, {
        pooled: pooled.slice(i * features, (i + 1) * features),
        logits: logits.slice(i * classes, (i + 1) * classes),
      });
    }
    onDone?.((start + size) / count);
  }
}
