/** Near copies by thumbnails of 16 × 16 pixels. */
/** Pixels per edge of the thumbnails. */
const edge = 16;
/** Maximum mean difference of a channel, of 255, between near copies: repeated shots of a camera at rest differ by 1 to 3. */
export const maxDifference = 4;
/** Bits of a fingerprint, in words of 16. Near copies differ in fewer bits than there are words, so one word is equal. */
const wordBits = 16;
const words = (edge * edge) / wordBits;
const maxBits = words - 1;

export interface Thumbnail {
  /** [edge,edge,3] */
  pixels: Uint8Array;
  /** Whether each pixel is brighter than the one before it by more than noise, in words. */
  fingerprint: Uint16Array;
  /** The mean of all values, in steps of `maxDifference`: near copies differ by at most one step. */
  level: number;
}

/** @param pixels - [side,side,3] RGB. */
export function thumbnailOf(pixels: Uint8Array, side: number): Thumbnail {
  const sums = new Float64Array(edge * edge * 3);
  const counts = new Float64Array(edge * edge);
  for (let y = 0; y < side; y++) {
    for (let x = 0; x < side; x++) {
      const cell = Math.floor((y * edge) / side) * edge + Math.floor((x * edge) / side);
      counts[cell] = (counts[cell] ?? 0) + 1;
      for (let c = 0; c < 3; c++) {
        sums[cell * 3 + c] = (sums[cell * 3 + c] ?? 0) + (pixels[(y * side + x) * 3 + c] ?? 0);
      }
    }
  }
  const small = Uint8Array.from(sums, (sum, i) => Math.round(sum / Math.max(1, counts[Math.floor(i / 3)] ?? 1)));
  const fingerprint = new Uint16Array(words);
  const brightness = (cell: number): number =>
    (small[cell * 3] ?? 0) + (small[cell * 3 + 1] ?? 0) + (small[cell * 3 + 2] ?? 0);
  for (let cell = 1; cell < edge * edge; cell++) {
    const at = Math.floor(cell / wordBits);
    // A margin, because noise alone decides between equal pixels.
    if (brightness(cell) > brightness(cell - 1) + 24)
      fingerprint[at] = (fingerprint[at] ?? 0) | (1 << (cell % wordBits));
  }
  const mean = small.reduce((sum, value) => sum + value, 0) / small.length;
  return { pixels: small, fingerprint, level: Math.floor(mean / maxDifference) };
}

function bitsBetween(a: Uint16Array, b: Uint16Array): number {
  let bits = 0;
  for (let i = 0; i < a.length; i++) for (let x = (a[i] ?? 0) ^ (b[i] ?? 0); x > 0; x &= x - 1) bits++;
  return bits;
}
export function meanDifference(a: Uint8Array, b: Uint8Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += Math.abs((a[i] ?? 0) - (b[i] ?? 0));
  return sum / a.length;
}
export const isNear = (a: Thumbnail, b: Thumbnail): boolean =>
  bitsBetween(a.fingerprint, b.fingerprint) <= maxBits && meanDifference(a.pixels, b.pixels) <= maxDifference;

/** Finds near copies without comparing each pair: only those of like brightness with an equal word of the fingerprint. */
export class ThumbnailIndex<T> {
  readonly #byWord = new Map<number, { thumbnail: Thumbnail; item: T }[]>();
  add(thumbnail: Thumbnail, item: T): void {
    const entry = { thumbnail, item };
    for (const [i, word] of thumbnail.fingerprint.entries()) {
      const key = keyOf(thumbnail.level, i, word);
      const some = this.#byWord.get(key);
      // A part of thousands of alike images is enough: most copies have several.
      if (!some) this.#byWord.set(key, [entry]);
      else if (some.length < mostPerWord) some.push(entry);
    }
  }
  /** @param isAccepted - of the items with an alike thumbnail. */
  find(thumbnail: Thumbnail, isAccepted: (item: T) => boolean = () => true): T | undefined {
    for (const level of [thumbnail.level, thumbnail.level - 1, thumbnail.level + 1]) {
      for (const [i, word] of thumbnail.fingerprint.entries()) {
        const some = this.#byWord.get(keyOf(level, i, word));
        const found = some?.find((one) => isNear(one.thumbnail, thumbnail) && isAccepted(one.item));
        if (found) return found.item;
      }
    }
    return undefined;
  }
}
const keyOf = (level: number, position: number, word: number): number =>
  (level * words + position) * 2 ** wordBits + word;
const mostPerWord = 200;
