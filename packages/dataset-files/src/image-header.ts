/** What the first bytes of a file say: its type, and size and orientation of an image. Decision 0120. */
import { mostImagePixels } from '@platform/contract/job/image-limits';

export type ImageType = 'jpg' | 'png' | 'webp';
export interface ImageHeader {
  readonly type: ImageType;
  /** As stored. */
  readonly width: number;
  readonly height: number;
  /** EXIF orientation: 1 is upright, 2 to 8 as in the standard. */
  readonly orientation: number;
  readonly upright: { readonly width: number; readonly height: number };
}
/** Why a file cannot be used as an image. */
export interface NoImage {
  /** Continues the name of the file: what it is, and what to do. */
  readonly problem: string;
  readonly kind: 'broken' | 'too_large' | 'other';
}
/** `wanted`: more of the file is needed. */
export type HeaderResult = { readonly header: ImageHeader } | NoImage | { readonly wanted: true };

const ascii = (bytes: Uint8Array, from: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(from, from + length));

/** Other types, by their first bytes. */
const others: readonly [what: string, is: (bytes: Uint8Array) => boolean][] = [
  [
    'is a HEIC image: convert it to JPEG',
    (b) => ascii(b, 4, 4) === 'ftyp' && /^(hei|hev|mif1|msf1)/.test(ascii(b, 8, 4)),
  ],
  ['is an AVIF image: convert it to JPEG', (b) => ascii(b, 4, 4) === 'ftyp' && ascii(b, 8, 3) === 'avi'],
  ['is a video: extract images of it', (b) => ascii(b, 4, 4) === 'ftyp'],
  ['is a GIF image: convert it to PNG', (b) => ascii(b, 0, 4) === 'GIF8'],
  ['is a BMP image: convert it to PNG', (b) => ascii(b, 0, 2) === 'BM'],
  ['is a TIFF or RAW image: convert it to PNG', (b) => /^(II\*\0|MM\0\*)/.test(ascii(b, 0, 4))],
  ['is a PDF file: export its pages as PNG', (b) => ascii(b, 0, 4) === '%PDF'],
  ['is an archive: unpack it first', (b) => /^(PK\x03\x04|\x1f\x8b|7z\xbc\xaf|Rar!)/.test(ascii(b, 0, 4))],
  ['is an SVG drawing: export it as PNG', (b) => /<svg[\s>]/.test(ascii(b, 0, 1024))],
  ['is a web page: a download that went wrong', (b) => /^\s*<(!doctype html|html)/i.test(ascii(b, 0, 64))],
  ['is text, no image', (b) => b.length > 0 && b.subarray(0, 512).every((one) => one >= 32 || (one >= 9 && one <= 13))],
];

const isJpeg = (b: Uint8Array): boolean => b[0] === 0xff && b[1] === 0xd8 && b[2] === 0xff;
const isPng = (b: Uint8Array): boolean => ascii(b, 0, 8) === '\x89PNG\r\n\x1a\n';
const isWebp = (b: Uint8Array): boolean => ascii(b, 0, 4) === 'RIFF' && ascii(b, 8, 4) === 'WEBP';

/** The first is enough for most headers. An EXIF block with a preview needs more, and WebP has it at its end. */
const startBytes = [4096, 131_072, 4_194_304, 60_000_000];

/** Reads as much of a file as its header needs. @param readStart - its first bytes, that many if it has them. */
export async function readImageHeader(
  sizeBytes: number,
  readStart: (bytes: number) => Promise<Uint8Array>,
): Promise<{ readonly header: ImageHeader } | NoImage> {
  if (sizeBytes === 0) return { kind: 'broken', problem: 'is empty' };
  for (const bytes of startBytes) {
    const start = await readStart(Math.min(bytes, sizeBytes));
    const header = imageHeader(start, start.length >= sizeBytes);
    if (!('wanted' in header)) return header;
  }
  return { kind: 'broken', problem: 'is a broken image: its header ends too early' };
}

/** Whether the first bytes are those of a JPEG, PNG or WebP file. */
export const isImageStart = (bytes: Uint8Array): boolean => isJpeg(bytes) || isPng(bytes) || isWebp(bytes);

/**
 * Reads type, size and orientation.
 *
 * @param isWhole - whether `bytes` is the whole file.
 */
export function imageHeader(bytes: Uint8Array, isWhole: boolean): HeaderResult {
  const read = isJpeg(bytes) ? jpegHeader : isPng(bytes) ? pngHeader : isWebp(bytes) ? webpHeader : undefined;
  if (!read) {
    const what = others.find(([, is]) => is(bytes))?.[0];
    return { kind: 'other', problem: what ?? 'is not a JPEG, PNG or WebP image' };
  }
  try {
    const { type, width, height, orientation } = read(new DataView(bytes.buffer, bytes.byteOffset, bytes.length));
    if (!(width > 0 && height > 0)) return { kind: 'broken', problem: 'is a broken image: its header has no size' };
    if (width * height > mostImagePixels)
      return {
        kind: 'too_large',
        problem: `has ${Math.round((width * height) / 1e6)} megapixels, the limit is ${mostImagePixels / 1e6}: scale it down`,
      };
    const upright = orientation >= 5 ? { width: height, height: width } : { width, height };
    return { header: { type, width, height, orientation, upright } };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return isWhole ? { kind: 'broken', problem: 'is a broken image: its header ends too early' } : { wanted: true };
  }
}

type Stored = Omit<ImageHeader, 'upright'>;

function jpegHeader(view: DataView): Stored {
  let orientation = 1;
  for (let at = 2; ;) {
    const marker = view.getUint16(at);
    // Fill bytes, and markers without a length.
    if (marker === 0xffff) at++;
    else if (marker === 0xff01 || (marker >= 0xffd0 && marker <= 0xffd8)) at += 2;
    else if (marker < 0xff00 || marker === 0xffd9 || marker === 0xffda)
      return { type: 'jpg', width: 0, height: 0, orientation };
    else {
      const length = view.getUint16(at + 2);
      const isFrame = marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker);
      if (isFrame) return { type: 'jpg', width: view.getUint16(at + 7), height: view.getUint16(at + 5), orientation };
      if (marker === 0xffe1 && length >= 16 && view.getUint32(at + 4) === 0x45786966)
        orientation = exifOrientation(view, at + 10, at + 2 + length);
      at += 2 + length;
    }
  }
}

function pngHeader(view: DataView): Stored {
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const found = { type: 'png', width, height } as const;
  for (let at = 8; ;) {
    const length = view.getUint32(at);
    const kind = view.getUint32(at + 4);
    if (kind === 0x65584966) return { ...found, orientation: exifOrientation(view, at + 8, at + 8 + length) };
    // eXIf stands before the image data.
    if (kind === 0x49444154 || kind === 0x49454e44) return { ...found, orientation: 1 };
    at += 12 + length;
  }
}

const u24 = (view: DataView, at: number): number => view.getUint16(at, true) + view.getUint8(at + 2) * 65536;

function webpHeader(view: DataView): Stored {
  const type = 'webp';
  const kind = view.getUint32(12);
  if (kind === 0x56503820)
    return {
      type,
      width: view.getUint16(26, true) & 0x3fff,
      height: view.getUint16(28, true) & 0x3fff,
      orientation: 1,
    };
  if (kind === 0x5650384c) {
    const bits = view.getUint32(21, true);
    return { type, width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff), orientation: 1 };
  }
  if (kind !== 0x56503858) return { type, width: 0, height: 0, orientation: 1 };
  const found = { type, width: 1 + u24(view, 24), height: 1 + u24(view, 27) } as const;
  // Bit 3: a chunk EXIF follows, after the image data.
  if ((view.getUint8(20) & 8) === 0) return { ...found, orientation: 1 };
  for (let at = 30; ;) {
    const length = view.getUint32(at + 4, true);
    if (view.getUint32(at) === 0x45584946)
      return { ...found, orientation: exifOrientation(view, at + 8, at + 8 + length) };
    at += 8 + length + (length % 2);
  }
}

/** The tag 0x0112 of an EXIF block; 1 without it. Throws RangeError if the block is not in the view. */
function exifOrientation(view: DataView, start: number, end: number): number {
  view.getUint8(end - 1);
  // Some writers repeat the prefix of JPEG in PNG and WebP.
  const from = end - start > 6 && view.getUint32(start) === 0x45786966 ? start + 6 : start;
  const tiff = new DataView(view.buffer, view.byteOffset + from, Math.max(0, end - from));
  try {
    const isLittle = tiff.getUint16(0) === 0x4949;
    const directory = tiff.getUint32(4, isLittle);
    const entries = tiff.getUint16(directory, isLittle);
    for (let i = 0; i < entries; i++) {
      const entry = directory + 2 + 12 * i;
      if (tiff.getUint16(entry, isLittle) !== 0x0112) continue;
      const value = tiff.getUint16(entry + 8, isLittle);
      return value >= 1 && value <= 8 ? value : 1;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return 1;
}
