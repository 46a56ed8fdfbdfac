/** Bounds the memory of concurrent decoding: an interlaced or progressive image is in memory as a whole. */

/**
 * Pixels that are decoded at the same time. An interlaced PNG with 16 bits a channel takes 8 bytes per pixel, so this is
 * 0.4 GB at most. A larger image is decoded alone.
 */
const maxPixels = 50e6;

export class PixelBudget {
  #free = maxPixels;
  readonly #waiting: { pixels: number; start: () => void }[] = [];

  /** Runs `work` when its pixels fit; in the order of the calls, so that a large image does not wait for ever. */
  async run<T>(pixels: number, work: () => Promise<T>): Promise<T> {
    const taken = Math.min(pixels, maxPixels);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ pixels: taken, start: resolve });
    this.#startNext();
    await promise;
    try {
      return await work();
    } finally {
      this.#free += taken;
      this.#startNext();
    }
  }
  #startNext(): void {
    for (let [next] = this.#waiting; next && next.pixels <= this.#free; [next] = this.#waiting) {
      this.#waiting.shift();
      this.#free -= next.pixels;
      next.start();
    }
  }
}
