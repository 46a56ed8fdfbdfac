import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { main } from './program.ts';

// Entry point when run from source; compiled.ts is the entry point of the single-file program.
const wasm = fileURLToPath(import.meta.resolve('onnxruntime-web/ort-wasm-simd-threaded.wasm'));
process.exitCode = await main({ wasm: () => readFile(wasm) });
