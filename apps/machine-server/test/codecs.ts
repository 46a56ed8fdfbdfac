import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { createJpegCodec } from '../src/images/jpeg-codec.ts';

const fileOf = (module: string) => () => readFile(fileURLToPath(import.meta.resolve(module)));

export const jpegWasm = {
  decoder: fileOf('@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm'),
  encoder: fileOf('@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm'),
};
/** The codec as a run from source has it. */
export const jpeg = createJpegCodec(jpegWasm);
