/** Forward passes of the network, in batches. */
import type { Feed, Session } from '@platform/trainer-engine/runtime';
import { sizeOf } from './head.ts';
import type { Feature } from './head.ts';
import { featureName } from './network.ts';

export interface InferenceNetwork {
  session: Session;
  batch: number;
  side: number;
  features: readonly Feature[];
  classes: number;
}

export interface InferenceResult {
  /** By feature of the head. */
  features: readonly Float32Array[];
  logits: Float32Array;
}

/**
 * @param fixed - all parameters of the network.
 * @param count - number of images; `draw` writes image `i` (side × side × 3 values 0..255) into `into` from
 *   `offset`.
 * @param seen - receives the results; it may keep the logits, not the features.
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
    const logits = results('logits');
    const values = features.map((_, i) => results(featureName(i)));
    for (let i = 0; i < size; i++) {
      seen(start + i, {
        features: features.map((one, at) => {
          const length = sizeOf(one);
          return values[at]?.subarray(i * length, (i + 1) * length) ?? new Float32Array();
        }),
        logits: logits.slice(i * classes, (i + 1) * classes),
      });
    }
    onDone?.((start + size) / count);
  }
}
