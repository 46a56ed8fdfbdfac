import type { Image } from './image.ts';

/**
 * EXIF orientation (tag 0x0112): 1 is upright, 2 to 8 as in the standard.
 *
 * @returns 1 for a file without the tag, and for one that cannot be parsed.
 */
export function exifOrientation(jpeg: Uint8Array): number {
  const view = new DataView(jpeg.buffer, jpeg.byteOffset, jpeg.byteLength);
  for (let at = 2; at + 10 < jpeg.length && view.getUint8(at) === 0xff;) {
    const marker = view.getUint8(at + 1);
    if (marker === 0xda) break; // start of the image data
    const length = view.getUint16(at + 2);
    const isExif = marker === 0xe1 && view.getUint32(at + 4) === 0x45786966;
    if (isExif) return tiffOrientation(new DataView(jpeg.buffer, jpeg.byteOffset + at + 10, jpeg.length - at - 10));
    at += 2 + length;
  }
  return 1;
}

function tiffOrientation(tiff: DataView): number {
  if (tiff.byteLength < 8) return 1;
  const isLittle = tiff.getUint16(0) === 0x4949;
  const directory = tiff.getUint32(4, isLittle);
  if (directory + 2 > tiff.byteLength) return 1;
  const entries = tiff.getUint16(directory, isLittle);
  for (let i = 0; i < entries; i++) {
    const entry = directory + 2 + 12 * i;
    if (entry + 12 > tiff.byteLength) return 1;
    if (tiff.getUint16(entry, isLittle) !== 0x0112) continue;
    const value = tiff.getUint16(entry + 8, isLittle);
    return value >= 1 && value <= 8 ? value : 1;
  }
  return 1;
}

/** Position of the upright image's pixel (x, y) in a stored image of `w` × `h` pixels, by orientation. */
const sources: Readonly<Record<number, (x: number, y: number, w: number, h: number) => [number, number]>> = {
  2: (x, y, w) => [w - 1 - x, y],
  3: (x, y, w, h) => [w - 1 - x, h - 1 - y],
  4: (x, y, _w, h) => [x, h - 1 - y],
  5: (x, y) => [y, x],
  6: (x, y, _w, h) => [y, h - 1 - x],
  7: (x, y, w, h) => [w - 1 - y, h - 1 - x],
  8: (x, y, w) => [w - 1 - y, x],
};

/** Rotates and mirrors the image to its upright orientation. */
export function upright(image: Image, orientation: number): Image {
  const source = sources[orientation];
  if (source === undefined) return image;
  const { width: w, height: h } = image;
  const [width, height] = orientation >= 5 ? [h, w] : [w, h];
  const rgb = new Uint8Array(image.rgb.length);
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0; x < width; x++, to += 3) {
      const [sx, sy] = source(x, y, w, h);
      const from = (sy * w + sx) * 3;
      rgb.set(image.rgb.subarray(from, from + 3), to);
    }
  }
  return { width, height, rgb };
}
