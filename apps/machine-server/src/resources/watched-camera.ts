import type { Clock, Log } from '@platform/kit';
import type { Camera, Resource, SourceCamera } from './resource.ts';
import { repeat } from './task.ts';

/** How often a camera that nothing reads is checked. */
export const cameraCheckMs = 30_000;

/** A camera that reports its own failure: by the reads of others or, without any, by checks of its source. */
export function watchedCamera(source: SourceCamera, { clock, log }: { clock: Clock; log: Log }): Resource {
  let failure: unknown;
  let readAt = -Infinity;
  const noted = async <T>(signal: AbortSignal, read: () => Promise<T>): Promise<T> => {
    try {
      const found = await read();
      failure = undefined;
      return found;
    } catch (error) {
      if (!signal.aborted) failure = error;
      throw error;
    } finally {
      if (!signal.aborted) readAt = clock.now();
    }
  };
  const camera: Camera = { image: (signal) => noted(signal, () => source.image(signal)) };
  const checks = repeat(cameraCheckMs, { clock, log }, async (signal) => {
    if (clock.now() - readAt >= cameraCheckMs) await noted(signal, () => source.check(signal));
    else if (failure !== undefined) throw failure;
  });
  return { offer: { is: 'camera', camera }, failure: () => failure, stop: checks.stop };
}
