import { PlatformError } from '@platform/contract/errors/errors';
import { within } from '@platform/kit';
import type { Clock } from '@platform/kit';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { maxImageBytes, imageFormat } from '../images/image.ts';
import type { CameraImage, SourceCamera } from './resource.ts';
import { sourceProblem } from './source-problem.ts';

const fetchTimeoutMs = 10_000;

/**
 * Cycles through the images of a folder in the order of their names: the next one every `intervalMs`, or with each call
 * if that is 0.
 */
export function folderCamera(of: { name: string; folder: string; intervalMs: number; clock: Clock }): SourceCamera {
  const { name, folder, intervalMs, clock } = of;
  const start = clock.now();
  const turn = { looks: 0 };
  const read = async (looks: number): Promise<CameraImage> => {
    const files = await reading(name, { folder }, async () => (await readdir(folder)).filter(isImageName).toSorted());
    const count = intervalMs > 0 ? Math.floor((clock.now() - start) / intervalMs) : looks;
    const file = files[count % files.length];
    if (file === undefined) throw cameraFailed(name, `the folder ${folder} has no .jpg or .png file`);
    const full = path.join(folder, file);
    const bytes = await reading(name, { file: full }, async () => {
      const { size } = await stat(full);
      if (size > maxImageBytes) throw new Error(`${full} has ${size} bytes, the limit is ${maxImageBytes}`);
      return readFile(full);
    });
    return withFormat(name, bytes, file);
  };
  return {
    image: () => read(turn.looks++),
    check: async () => void (await read(turn.looks)),
  };
}

const isImageName = (file: string): boolean => /\.(jpe?g|png)$/i.test(file);

/** The image that a GET of `url` returns. */
export function httpCamera({ name, url, clock }: { name: string; url: string; clock: Clock }): SourceCamera {
  const image = async (signal: AbortSignal): Promise<CameraImage> => {
    const get = async (until: AbortSignal) => {
      const response = await fetch(url, { signal: until });
      if (!response.ok) throw new Error(`it answered with HTTP status ${response.status}`);
      return limitedBody(response);
    };
    const bytes = await reading(name, { url }, () =>
      within(fetchTimeoutMs, { what: `GET ${url}`, clock, signal }, get),
    );
    return withFormat(name, bytes, new URL(url).pathname.split('/').at(-1) ?? '');
  };
  return { image, check: async (signal) => void (await image(signal)) };
}

async function limitedBody(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.length;
    if (size > maxImageBytes) throw new Error(`its image has more than ${maxImageBytes} bytes`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function withFormat(name: string, bytes: Uint8Array, source: string): CameraImage {
  const format = imageFormat(bytes);
  if (format === undefined) throw cameraFailed(name, `${source || 'the answer'} is neither JPEG nor PNG`);
  return { bytes, format, source };
}

async function reading<T>(name: string, what: Parameters<typeof sourceProblem>[1], read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    throw cameraFailed(name, sourceProblem(error, what), error);
  }
}

const cameraFailed = (name: string, problem: string, cause?: unknown): PlatformError =>
  new PlatformError('CAMERA_FAILED', { name, problem }, cause);
