import { PlatformError } from '@platform/contract/errors/errors';
import { within, errorText } from '@platform/kit';
import type { Clock } from '@platform/kit';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { maxImageBytes, imageFormat } from '../images/image.ts';
import type { CameraImage, SourceCamera } from './resource.ts';

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

/** Says why a folder, file or URL of the machine cannot be read, in words for users. */
function sourceProblem(error: unknown, what: { folder: string } | { file: string } | { url: string }): string {
  const code = codeOf(error);
  if ('url' in what) return urlProblems[code]?.(new URL(what.url)) ?? errorText(error);
  const [kind, place] = 'folder' in what ? ['folder', what.folder] : ['file', what.file];
  switch (code) {
    case 'ENOENT':
      return `the ${kind} ${place} does not exist on the machine`;
    case 'ENOTDIR':
      return `${place} is not a folder on the machine`;
    case 'EISDIR':
      return `${place} is a folder, not a file`;
    case 'EACCES':
    case 'EPERM':
      return `the machine server is not permitted to read the ${kind} ${place}`;
    case 'EIO':
      return `the disk of the machine cannot read the ${kind} ${place}`;
    default:
      return errorText(error);
  }
}

const urlProblems: Readonly<Record<string, (url: URL) => string>> = {
  ECONNREFUSED: ({ host }) => `no program accepts connections at ${host}`,
  ECONNRESET: ({ host }) => `${host} closed the connection`,
  EHOSTUNREACH: ({ host }) => `${host} cannot be reached from the machine`,
  ENETUNREACH: ({ host }) => `${host} cannot be reached from the machine`,
  ENOTFOUND: ({ hostname }) => `the machine cannot resolve the name ${hostname}`,
  EAI_AGAIN: ({ hostname }) => `the machine cannot resolve the name ${hostname}`,
};

/** The system's code of an error or of its cause; empty: none. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return codeOf(error.cause);
}
