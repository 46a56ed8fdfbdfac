// What the server, the importer and the trainers accept as an image, and how they read images of 16 bits.

/** Larger images are rejected before decoding: a small file may claim any size. */
export const mostImagePixels = 100e6;

/** Bits per channel of cameras that store their values in images of 16 bits. */
const cameraBits = [10, 12, 14] as const;

/**
 * How many of its 16 bits an image uses, by its largest value. A camera of 12 bits that writes its values as they are
 * fills a sixteenth of the range, so the image is nearly black.
 */
export const usedBitsOf = (largest: number): number => cameraBits.find((bits) => largest < 2 ** bits) ?? 16;

/** The factor that stretches values of these bits to the whole range of 16 bits. */
export const stretchOf = (usedBits: number): number => 65_535 / (2 ** usedBits - 1);
