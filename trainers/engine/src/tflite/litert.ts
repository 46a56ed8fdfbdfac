/** Runs .tflite files in LiteRT, in a thread of its own. Decision 0131. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { TfliteAnswer } from './litert-thread.ts';

export interface TfliteSession extends AsyncDisposable {
  /** Results by the names of the outputs. Throws if LiteRT cannot run the file, and when the signal is aborted. */
  run(pixels: Uint8Array): Promise<TfliteAnswer>;
}

/** @throws if LiteRT refuses the file. */
export async function openTflite(file: Uint8Array, signal: AbortSignal): Promise<TfliteSession> {
  signal.throwIfAborted();
  // A view would be sent with the whole buffer behind it, so a copy is moved.
  const workerData = Uint8Array.from(file);
  // LiteRT prints about its set-up.
  const quiet = { stdout: true, stderr: true };
  const given = { ...quiet, workerData, transferList: [workerData.buffer] };
  const worker = new Worker(new URL('litert-thread.ts', import.meta.url), given);
  const ended = new AbortController();
  worker.once('exit', (code) => ended.abort(new Error(`LiteRT ended with ${code}`)));
  const either = AbortSignal.any([signal, ended.signal]);
  const next = async (): Promise<unknown> => {
    try {
      const [message] = (await once(worker, 'message', { signal: either })) as unknown[];
      return message;
    } catch (error) {
      either.throwIfAborted();
      throw error;
    }
  };
  const close = async (): Promise<void> => void (await worker.terminate());
  try {
    await next();
  } catch (error) {
    await close();
    throw error;
  }
  const run = async (pixels: Uint8Array): Promise<TfliteAnswer> => {
    const answer = next();
    const image = Uint8Array.from(pixels);
    worker.postMessage(image, [image.buffer]);
    return (await answer) as TfliteAnswer;
  };
  return { run, [Symbol.asyncDispose]: close };
}
