/** Pixels in memory: `rgb` has 3 bytes per pixel, row by row from the top left corner. */
export interface Image {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** Format by the first bytes of the file, whatever its name. */
export type ImageFormat = 'jpeg' | 'png';

export const mimeTypes: Readonly<Record<ImageFormat, string>> = { jpeg: 'image/jpeg', png: 'image/png' };
export const extensions: Readonly<Record<ImageFormat, string>> = { jpeg: '.jpg', png: '.png' };

/** Maximum size of an image file to read, capture or predict on. */
export const maxImageBytes = 16 * 1024 * 1024;

/** Maximum size of an image to decode, in pixels: 40 megapixels need 120 MB. */
export const maxImagePixels = 40_000_000;

export function imageFormat(bytes: Uint8Array): ImageFormat | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return 'jpeg';
  const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  return png.every((byte, at) => bytes[at] === byte) ? 'png' : undefined;
}
