import decode, { init as initDecoder } from '@jsquash/jpeg/decode.js';
import encode, { init as initEncoder } from '@jsquash/jpeg/encode.js';
import { maxImagePixels } from './image.ts';
import type { Image } from './image.ts';

/** Content of the two WebAssembly files of @jsquash/jpeg; read once, for the first image. */
export interface JpegWasm {
  readonly decoder: () => Promise<Uint8Array>;
  readonly encoder: () => Promise<Uint8Array>;
}

/** Decodes to the pixels that libvips, and so a trainer, decodes. */
export interface JpegCodec {
  /** As stored, without the orientation. @throws Error when the file is broken, too large or not in grey or RGB. */
  decode(bytes: Uint8Array): Promise<Image>;
  encode(image: Image, quality: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** The part of WebAssembly's types that is used here: only the browser's type library declares them. */
interface Assembly {
  compile(bytes: Uint8Array): Promise<object>;
  Instance: new (module: object, imports: object) => { readonly exports: object };
}
const { WebAssembly: assembly } = globalThis as unknown as { WebAssembly: Assembly };

/** Cameras write up to 12. Each scan of a progressive file costs as much as a small image. */
const maxScans = 100;

export function createJpegCodec(wasm: JpegWasm): JpegCodec {
  const [decoder, encoder] = [compiledOnce(wasm.decoder), compiledOnce(wasm.encoder)];
  return {
    decode: async (bytes) => {
      checkMarkers(bytes);
      return decodeWith(await decoder(), bytes);
    },
    encode: async (image, quality) => {
      void initEncoder(options(await encoder(), []));
      const { width, height } = image;
      return new Uint8Array(await encode({ width, height, data: withAlpha(image) }, { quality }));
    },
  };
}

/** A failure, such as that no file descriptor is free, is not kept: the next image tries again. */
function compiledOnce(read: () => Promise<Uint8Array>): () => Promise<object> {
  let compiled: Promise<object> | undefined;
  const compile = async (): Promise<object> => {
    try {
      return await assembly.compile(await read());
    } catch (error) {
      compiled = undefined;
      throw error;
    }
  };
  return () => (compiled ??= compile());
}

function checkMarkers(bytes: Uint8Array): void {
  const { width, height, components, scans, isComplete } = jpegMarkers(bytes);
  if (width * height > maxImagePixels)
    throw new Error(`it has ${width} × ${height} pixels, the limit is ${maxImagePixels}`);
  if (scans > maxScans) throw new Error(`it has ${scans} scans, the limit is ${maxScans}`);
  if (!isComplete) throw new Error('it ends too early');
  if (components === 4) throw new Error('it is a CMYK image: convert it to RGB');
}

/** Each file gets an instance of its own: one that failed is in no defined state, and memory of one never shrinks. */
async function decodeWith(module: object, bytes: Uint8Array): Promise<Image> {
  const messages: string[] = [];
  void initDecoder(options(module, messages));
  try {
    const { width, height, data } = await decode(Uint8Array.from(bytes).buffer);
    return { width, height, rgb: withoutAlpha(data) };
  } catch (error) {
    // libjpeg prints its reason and exits.
    throw new Error(messages.at(-1) ?? 'it cannot be decoded', { cause: error });
  }
}

const options = (module: object, messages: string[]) => ({
  printErr: (message: string) => void messages.push(message),
  instantiateWasm: (imports: object, done: (instance: object) => void): object => {
    const instance = new assembly.Instance(module, imports);
    done(instance);
    return instance.exports;
  },
});

/** In place: the largest image would need another 120 MB. */
function withoutAlpha(rgba: Uint8ClampedArray): Uint8Array {
  const data = new Uint8Array(rgba.buffer, rgba.byteOffset, rgba.byteLength);
  let to = 0;
  for (let from = 0; from < data.length; from += 4) {
    data[to++] = data[from]!;
    data[to++] = data[from + 1]!;
    data[to++] = data[from + 2]!;
  }
  return data.subarray(0, to);
}

function withAlpha({ width, height, rgb }: Image): Uint8ClampedArray {
  const rgba = new Uint8ClampedArray(width * height * 4).fill(255);
  for (let from = 0, to = 0; from < rgb.length; from += 3, to += 4) rgba.set(rgb.subarray(from, from + 3), to);
  return rgba;
}

/** What the markers of a JPEG file announce. */
interface JpegMarkers {
  readonly width: number;
  readonly height: number;
  /** 1: grey; 3: colour; 4: CMYK. 0: the file has no frame. */
  readonly components: number;
  /** A progressive file has several. */
  readonly scans: number;
  /** Whether the image has its end. */
  readonly isComplete: boolean;
}

const [startOfFrame, lastStartOfFrame] = [0xc0, 0xcf];
/** In the range of frames, but tables: Huffman, reserved, arithmetic coding. */
const tables: readonly number[] = [0xc4, 0xc8, 0xcc];
const endOfImage = 0xd9;
const startOfScan = 0xda;
/** Restart markers, the start of the image, and 0x01 have no content. */
const isBare = (marker: number): boolean => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8);

/** Reads the markers of the first image as libjpeg does: bytes between segments, and between scans, do not matter. */
function jpegMarkers(bytes: Uint8Array): JpegMarkers {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let frame = { width: 0, height: 0, components: 0 };
  let scans = 0;
  for (let at = bytes.indexOf(0xff); at >= 0; at = bytes.indexOf(0xff, at)) {
    while (bytes[at] === 0xff) at++;
    const marker = bytes[at++] ?? 0;
    if (marker === endOfImage) return { ...frame, scans, isComplete: true };
    if (marker === 0 || isBare(marker)) continue;
    if (at + 2 > bytes.length) break;
    const isFrame = marker >= startOfFrame && marker <= lastStartOfFrame && !tables.includes(marker);
    if (isFrame && at + 8 <= bytes.length)
      frame = { height: view.getUint16(at + 3), width: view.getUint16(at + 5), components: view.getUint8(at + 7) };
    if (marker === startOfScan) scans++;
    at += view.getUint16(at);
  }
  return { ...frame, scans, isComplete: false };
}
