import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { main } from './program.ts';

// Entry point when run from source; compiled.ts is the entry point of the single-file program.
const fileOf = (module: string) => () => readFile(fileURLToPath(import.meta.resolve(module)));
process.exitCode = await main({
  wasm: {
    onnxruntime: fileOf('onnxruntime-web/ort-wasm-simd-threaded.wasm'),
    decoder: fileOf('@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm'),
    encoder: fileOf('@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm'),
  },
});
