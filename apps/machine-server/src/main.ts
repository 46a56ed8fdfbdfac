import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { main } from './program.ts';

// The program as it runs from source; compiled.ts starts the same as one file.
const wasm = fileURLToPath(import.meta.resolve('onnxruntime-web/ort-wasm-simd-threaded.wasm'));
process.exitCode = await main({ wasm: () => readFile(wasm) });
