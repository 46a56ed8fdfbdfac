/** Chooses the device of a training: a GPU if one computes the same results as the CPU, otherwise the CPU. */
import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { promisify } from 'node:util';
import { openSession } from './runtime.ts';
import type { Feeds, Place, Session } from './runtime.ts';

export interface Device {
  place: Place;
  /** Name in evaluation.json. */
  name: 'cpu' | 'cuda';
  /** One sentence for users: why this device. */
  reason: string;
  /** The job requested a GPU and does not get one. */
  isFallback: boolean;
}
export interface Gpu {
  name: string;
  /** Free share of its memory, 0..1. */
  freeShare: number;
}
/** The devices of a host. */
export interface DevicePort {
  /** Whether ONNX Runtime has the CUDA provider, which the host's operator installs. */
  hasCuda(): boolean;
  /** GPUs that this process may use, in CUDA's order. */
  gpus(): Promise<readonly Gpu[]>;
  open(model: Uint8Array, place: Place): Promise<Session>;
}
/** One step of the actual training. */
export interface Trial {
  model: Uint8Array;
  feeds: Feeds;
}

/** Minimum free share of a GPU for a job that did not request one. */
const minFreeShare = 0.9;
const lossTolerance = 1e-3;

/**
 * @param wanted - number of GPUs that the job requested. If 0, it uses a GPU only if one is free.
 * @param trial - called only if there is a GPU to test.
 */
export async function chooseDevice(port: DevicePort, wanted: number, trial: () => Trial): Promise<Device> {
  const cpu = (reason: string): Device => ({ place: 'cpu', name: 'cpu', reason, isFallback: wanted > 0 });
  const gpus = await port.gpus();
  if (gpus.length === 0) return cpu('There is no GPU that this process may use.');
  if (!port.hasCuda()) {
    return cpu(`There is a GPU (${gpus[0]?.name}), but ONNX Runtime's CUDA provider is not installed.`);
  }
  const index = gpus.reduce((best, gpu, i) => (gpu.freeShare > (gpus[best]?.freeShare ?? 0) ? i : best), 0);
  const gpu = gpus[index];
  if (!gpu || (wanted === 0 && gpu.freeShare < minFreeShare))
    return cpu('Every GPU is in use, and the job asked for none.');
  try {
    const { model, feeds } = trial();
    const [there, here] = [await lossOf(port, { cuda: index }, model, feeds), await lossOf(port, 'cpu', model, feeds)];
    const difference = Math.abs(there - here);
    if (!(difference < lossTolerance)) {
      return cpu(`One step on ${gpu.name} gave the loss ${there}, on the CPU ${here}: the GPU is not used.`);
    }
    const reason = `One step on ${gpu.name} gave the loss of the CPU to ${difference.toExponential(0)}.`;
    return { place: { cuda: index }, name: 'cuda', reason, isFallback: false };
  } catch (e) {
    const [line] = (e instanceof Error ? e.message : String(e)).split('\n');
    return cpu(`${gpu.name} cannot be used: ${line}`);
  }
}

async function lossOf(port: DevicePort, place: Place, model: Uint8Array, feeds: Feeds): Promise<number> {
  const session = await port.open(model, place);
  try {
    const results = await session.run(feeds);
    return results('loss')[0] ?? Number.NaN;
  } finally {
    await session.release();
  }
}

/** @param text - lines of `index, uuid, name, memory used, memory total`; @param visible - CUDA_VISIBLE_DEVICES. */
export function gpusIn(text: string, visible: string | undefined): Gpu[] {
  const all = text
    .split('\n')
    .map((line) => line.split(',').map((cell) => cell.trim()))
    .flatMap(([index = '', uuid = '', name = '', used = '', total = '']) =>
      Number(total) > 0 ? [{ index, uuid, name, freeShare: 1 - Number(used) / Number(total) }] : [],
    );
  if (visible === undefined) return all.map(({ name, freeShare }) => ({ name, freeShare }));
  const seen: Gpu[] = [];
  for (const wanted of visible.split(',').map((one) => one.trim())) {
    const found = all.find(({ index, uuid }) => index === wanted || (wanted !== '' && uuid.startsWith(wanted)));
    // CUDA ignores all entries after the first unknown one.
    if (!found) break;
    seen.push({ name: found.name, freeShare: found.freeShare });
  }
  return seen;
}

/** The devices of this host. */
export function localDevices(threads: number): DevicePort {
  return {
    hasCuda: () => {
      const folder = path.dirname(createRequire(import.meta.url).resolve('onnxruntime-node/package.json'));
      const libraries = path.join(folder, 'bin');
      if (!existsSync(libraries)) return false;
      const here = path.join(process.platform, process.arch) + path.sep;
      const files = readdirSync(libraries, { recursive: true, encoding: 'utf8' });
      return files.some((file) => file.includes(here) && path.basename(file).includes('providers_cuda'));
    },
    gpus: async () => {
      const query = ['--query-gpu=index,uuid,name,memory.used,memory.total', '--format=csv,noheader,nounits'];
      try {
        const { stdout } = await promisify(execFile)('nvidia-smi', query, { timeout: 10_000 });
        return gpusIn(stdout, process.env['CUDA_VISIBLE_DEVICES']);
      } catch {
        return []; // no driver: no GPU
      }
    },
    open: (model, place) => openSession(model, threads, place),
  };
}
