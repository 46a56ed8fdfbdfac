/** Pixels in memory: `rgb` holds 3 bytes a pixel, row by row from the top left corner. */
export interface Picture {
  readonly width: number;
  readonly height: number;
  readonly rgb: Uint8Array;
}

/** What a file starts with, whatever it is called. */
export type PictureFormat = 'jpeg' | 'png';

export const mimeTypes: Readonly<Record<PictureFormat, string>> = { jpeg: 'image/jpeg', png: 'image/png' };
export const extensions: Readonly<Record<PictureFormat, string>> = { jpeg: '.jpg', png: '.png' };

/** Largest picture file that is read, captured or predicted on. */
export const maxPictureBytes = 16 * 1024 * 1024;

/** Largest picture that is unpacked, in pixels: 40 megapixels need 120 MB. */
export const maxPicturePixels = 40_000_000;

export function pictureFormat(bytes: Uint8Array): PictureFormat | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return 'jpeg';
  const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  return png.every((byte, at) => bytes[at] === byte) ? 'png' : undefined;
}
