// What detectors found, with the image in which they found it (decision 0167).
import type { Detection } from '../annotations.ts';

/** An image in which a detector has just found boxes, or none. */
export interface PredictedImage {
  readonly bytes: Uint8Array;
  /** File name or URL, for logs. */
  readonly source: string;
  /** Monotonic, ms. */
  readonly takenAt: number;
  readonly boxes: readonly Detection[];
}

/**
 * The newest predicted image of each camera that is looked at live: boxes are true of their own image only, so a live view
 * shows that one. Without a view, no image is kept.
 */
export class PredictedImages {
  readonly #byCamera = new Map<string, PredictedImage | undefined>();

  /** Keeps images of these cameras only. */
  follow(cameras: Iterable<string>): void {
    const wanted = new Set(cameras);
    for (const camera of this.#byCamera.keys()) if (!wanted.has(camera)) this.#byCamera.delete(camera);
    for (const camera of wanted) if (!this.#byCamera.has(camera)) this.#byCamera.set(camera, undefined);
  }

  note(camera: string, image: PredictedImage): void {
    if (!this.#byCamera.has(camera)) return;
    const before = this.#byCamera.get(camera);
    // A slow detector may be ready after another one that looked later.
    if (before === undefined || image.takenAt > before.takenAt) this.#byCamera.set(camera, image);
  }

  newest(camera: string): PredictedImage | undefined {
    return this.#byCamera.get(camera);
  }
}
