import { PlatformError } from '@platform/contract/errors/errors';
import { stretchOf, usedBitsOf } from '@platform/contract/job/image-limits';
import { errorText } from '@platform/kit';
import { convertIndexedToRgb, decode as decodePng } from 'fast-png';
import type { DecodedPng } from 'fast-png';
import { inflateSync } from 'node:zlib';
import { exifOrientation, upright } from './orientation.ts';
import { maxImageBytes, maxImagePixels, imageFormat } from './image.ts';
import type { Image } from './image.ts';
import type { JpegCodec } from './jpeg-codec.ts';

/**
 * Decodes a JPEG or PNG file of at most `maxImageBytes` into upright RGB pixels on white, as the trainers do.
 *
 * @param name - name of the image for errors.
 * @throws PlatformError INVALID_IMAGE for any other format, and for a broken or too large file.
 */
export async function decodeImage(bytes: Uint8Array, name: string, jpeg: JpegCodec): Promise<Image> {
  const invalid = (problem: string, cause?: unknown) => new PlatformError('INVALID_IMAGE', { name, problem }, cause);
  if (bytes.length > maxImageBytes) throw invalid(`it has ${bytes.length} bytes, the limit is ${maxImageBytes}`);
  try {
    switch (imageFormat(bytes)) {
      case 'jpeg':
        return upright(await jpeg.decode(bytes), exifOrientation(bytes));
      case 'png':
        return readPng(bytes);
      case undefined:
        throw new Error('it is neither JPEG nor PNG');
    }
  } catch (error) {
    throw invalid(errorText(error), error);
  }
}

function readPng(bytes: Uint8Array): Image {
  checkPngSize(bytes);
  const png = decodePng(bytes, { checkCrc: true });
  const { width, height } = png;
  const { data, channels } = samples(png);
  const rgb = new Uint8Array(width * height * 3);
  for (let from = 0, to = 0; to < rgb.length; from += channels, to += 3) {
    const isGrey = channels < 3;
    const alpha = channels % 2 === 0 ? (data[from + channels - 1] ?? 255) / 255 : 1;
    for (let c = 0; c < 3; c++) {
      const value = data[isGrey ? from : from + c] ?? 0;
      rgb[to + c] = Math.round(value * alpha + 255 * (1 - alpha));
    }
  }
  return { width, height, rgb };
}

/** One byte per sample, for any bit depth of the file. */
function samples(png: DecodedPng): { data: Uint8Array; channels: number } {
  if (png.palette) return { data: convertIndexedToRgb(png), channels: png.palette[0]?.length ?? 3 };
  if (png.depth === 16) return { data: eightBits(png), channels: png.channels };
  const packed = Uint8Array.from(png.data);
  if (png.depth === 8) return { data: packed, channels: png.channels };
  // Grey with 1, 2 or 4 bits: rows start at a byte, samples in its high bits.
  const perByte = 8 / png.depth;
  const rowBytes = Math.ceil(png.width / perByte);
  const top = 2 ** png.depth - 1;
  const data = new Uint8Array(png.width * png.height);
  for (let y = 0; y < png.height; y++) {
    for (let x = 0; x < png.width; x++) {
      const byte = packed[y * rowBytes + Math.floor(x / perByte)] ?? 0;
      const shift = 8 - png.depth * ((x % perByte) + 1);
      data[y * png.width + x] = (((byte >> shift) & top) * 255) / top;
    }
  }
  return { data, channels: 1 };
}

/** As the trainers read them: an image that uses 12 of its 16 bits is stretched to the whole range. */
function eightBits({ data, channels }: DecodedPng): Uint8Array {
  const alpha = channels % 2 === 0 ? channels - 1 : undefined;
  const isColour = (at: number): boolean => at % channels !== alpha;
  let largest = 0;
  for (let at = 0; at < data.length; at++) if (isColour(at)) largest = Math.max(largest, data[at] ?? 0);
  const factor = stretchOf(usedBitsOf(largest));
  return Uint8Array.from(data, (sample, at) => (isColour(at) ? Math.round(sample * factor) : sample) >> 8);
}

/** A PNG of a few kilobytes can decompress to gigabytes: check its real size within the limit first. */
function checkPngSize(bytes: Uint8Array): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = view.getUint32(16);
  const height = view.getUint32(20);
  if (width * height > maxImagePixels) throw new Error(`it has ${width} × ${height} pixels, too many`);
  const parts: Uint8Array[] = [];
  for (let at = 8; at + 8 <= bytes.length;) {
    const length = view.getUint32(at);
    if (view.getUint32(at + 4) === 0x49444154) parts.push(bytes.subarray(at + 8, at + 8 + length)); // IDAT
    at += 12 + length;
  }
  inflateSync(Buffer.concat(parts), { maxOutputLength: maxImagePixels * 8 });
}
