import wasm from 'onnxruntime-web/ort-wasm-simd-threaded.wasm' with { type: 'file' };
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { main } from './program.ts';
import { applyTestFault } from './test-fault.ts';

// Entry of the one-file program: the WebAssembly file travels inside and is read from there.
if (!process.argv.includes('--version')) await applyTestFault();
const startedAs = process.argv0.includes('/') ? path.resolve(process.argv0) : process.execPath;
process.exitCode = await main({ wasm: () => readFile(wasm), programFile: startedAs });
