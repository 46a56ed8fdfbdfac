/**
 * Thread that runs a .tflite file in LiteRT, TensorFlow Lite's own runtime, compiled to WebAssembly. LiteRT.js expects the
 * global functions of a browser's worker, which exist in this thread only.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { loadAndCompile, loadLiteRt, Tensor } from '@litertjs/core';
import type { CompiledModel } from '@litertjs/core';
import { systemClock } from '../clock.ts';

export interface TfliteAnswer {
  outputs: Record<string, Float32Array<ArrayBuffer>>;
  /** Time of the run. */
  ms: number;
}

/** The script of the WebAssembly is a CommonJS module in a package of ES modules, which `require` would misread. */
function importScripts(file: string): void {
  const made = { exports: {} };
  const names = ['module', 'exports', 'require', '__filename', '__dirname'];
  const text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file));
  const script = compileFunction(text, names, { filename: file }) as (...given: unknown[]) => void;
  script(made, made.exports, createRequire(file), file, path.dirname(file));
  Object.assign(globalThis, { ModuleFactory: made.exports });
}

async function answer(model: CompiledModel, pixels: Uint8Array<ArrayBuffer>): Promise<TfliteAnswer> {
  const [input] = model.getInputDetails();
  if (!input) throw new Error('the .tflite file has no input');
  const image = new Tensor(pixels, [...input.shape]);
  const started = systemClock.now();
  const results = await model.run({ [input.name]: image });
  const ms = systemClock.now() - started;
  image.delete();
  const outputs: TfliteAnswer['outputs'] = {};
  for (const [name, tensor] of Object.entries(results)) {
    outputs[name] = Float32Array.from(tensor.toTypedArray());
    tensor.delete();
  }
  return { outputs, ms };
}

Object.assign(globalThis, { self: globalThis, importScripts });
const home = path.dirname(fileURLToPath(import.meta.resolve('@litertjs/core')));
await loadLiteRt(`${path.join(home, '..', 'wasm')}/`);
const model = await loadAndCompile(workerData as Uint8Array<ArrayBuffer>, { accelerator: 'wasm' });
async function reply(pixels: Uint8Array<ArrayBuffer>): Promise<void> {
  const one = await answer(model, pixels);
  const buffers = Object.values(one.outputs).map(({ buffer }) => buffer);
  parentPort?.postMessage(one, buffers);
}
parentPort?.on('message', (pixels: Uint8Array<ArrayBuffer>) => void reply(pixels));
parentPort?.postMessage('ready', []);
