import decoder from '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm' with { type: 'file' };
import encoder from '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm' with { type: 'file' };
import onnxruntime from 'onnxruntime-web/ort-wasm-simd-threaded.wasm' with { type: 'file' };
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { machineExit } from '@platform/contract/machine-server/machine-server';
import { main } from './program.ts';
import { applyTestFault } from '@platform/kit/test-fault';

// Entry point of the single-file program, which embeds the WebAssembly files. A crash prints only the stack: the
// runtime's own report would print the whole minified source.
const crash = (error: unknown): never => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(machineExit.failed);
};
process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);

if (!process.argv.includes('--version')) await applyTestFault();
const startedAs = process.argv0.includes('/') ? path.resolve(process.argv0) : process.execPath;
const wasm = {
  onnxruntime: () => readFile(onnxruntime),
  decoder: () => readFile(decoder),
  encoder: () => readFile(encoder),
};
process.exitCode = await main({ wasm, programFile: startedAs });
