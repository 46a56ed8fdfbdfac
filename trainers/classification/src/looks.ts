/** Runs pictures forward through the network, in batches. */
import type { Parameter } from '@platform/trainer-engine/autodiff/tape';
import type { Feed, Session } from '@platform/trainer-engine/runtime';

export interface Looks {
  pooled: Float32Array[];
  logits: Float32Array[];
}
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

/**
 * @param count - pictures; `draw` writes picture `i` (side × side × 3 values 0..255) into `into` from `offset`.
 */
export async function look(
  { session, batch, side, features, classes }: Viewer,
  parameters: ReadonlyMap<string, Parameter>,
  count: number,
  draw: (i: number, into: Float32Array, offset: number) => void,
  { signal, onDone }: { signal: AbortSignal; onDone?: (share: number) => void },
): Promise<Looks> {
  const looks: Looks = { pooled: [], logits: [] };
  const fixed = parameterFeeds(parameters);
  const image = new Float32Array(batch * side * side * 3);
  for (let start = 0; start < count; start += batch) {
    signal.throwIfAborted();
    const size = Math.min(batch, count - start);
    for (let i = 0; i < size; i++) draw(start + i, image, i * side * side * 3);
    const results = await session.run({ ...fixed, image: { data: image, dims: [batch, side, side, 3] } });
    const [pooled, logits] = [results('pooled'), results('logits')];
    for (let i = 0; i < size; i++) {
      looks.pooled.push(pooled.slice(i * features, (i + 1) * features));
      looks.logits.push(logits.slice(i * classes, (i + 1) * classes));
    }
    onDone?.((start + size) / count);
  }
  return looks;
}
