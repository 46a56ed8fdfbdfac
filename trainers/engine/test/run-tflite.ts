/** Runs a .tflite file on one image. */
import { openTflite } from '../src/tflite/litert.ts';

export async function runTflite(file: Uint8Array, image: Uint8Array): Promise<Record<string, Float32Array>> {
  await using session = await openTflite(file, AbortSignal.timeout(60_000));
  return (await session.run(image)).outputs;
}
