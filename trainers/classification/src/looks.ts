/** Runs pictures forward through the network, in batches. */
import type { Parameter } from '@platform/trainer-engine/autodiff/tape';
import type { Feed, Session } from '@platform/trainer-engine/runtime';

export interface Viewer {
  session: Session;
  batch: number;
  side: number;
  features: number;
  classes: number;
}

export function parameterFeeds(parameters: ReadonlyMap<string, Parameter>): Record<string, Feed> {
  const feeds: Record<string, Feed> = {};
  for (const [name, { values, shape }] of parameters) feeds[name] = { data: values, dims: shape };
  return feeds;
}

export interface Look {
  pooled: Float32Array;
  logits: Float32Array;
}

/**
 * @param count - pictures; `draw` writes picture `i` (side × side × 3 values 0..255) into `into` from `offset`.
 * @param seen - what came out; the arrays are its own to keep.
 */
export async function look(
  { session, batch, side, features, classes }: Viewer,
  parameters: ReadonlyMap<string, Parameter>,
  count: number,
  draw: (i: number, into: Float32Array, offset: number) => void,
  seen: (i: number, look: Look) => void,
  { signal, onDone }: { signal: AbortSignal; onDone?: (share: number) => void },
): Promise<void> {
  const fixed = parameterFeeds(parameters);
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
