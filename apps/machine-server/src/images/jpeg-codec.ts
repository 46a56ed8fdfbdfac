import decode, { init as initDecoder } from '@jsquash/jpeg/decode.js';
import encode, { init as initEncoder } from '@jsquash/jpeg/encode.js';
import { maxImagePixels } from './image.ts';
import type { Image } from './image.ts';
import { jpegMarkers } from './jpeg-markers.ts';

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
