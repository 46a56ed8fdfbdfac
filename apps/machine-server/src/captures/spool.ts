import { errorText } from '@platform/kit';
import { Cell } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { extensions } from '../images/image.ts';
import type { ImageFormat } from '../images/image.ts';
import type { ImageAnnotations } from '../annotations.ts';

/** Record beside an image until its upload; keys as in the file. */
export interface CaptureRecord {
  /** Unique on this machine and equal in every attempt, so that the server recognizes a repeated upload. */
  readonly file_name: string;
  readonly format: ImageFormat;
  readonly camera: string;
  /** Milliseconds since 1970. */
  readonly taken_ms: number;
  readonly tags: readonly string[];
  readonly dataset_ids: readonly string[];
  /** A model's results for it; absent if no model is configured or the prediction failed. */
  readonly annotations?: ImageAnnotations;
}

export interface SpooledCapture {
  readonly record: CaptureRecord;
  readonly folder: string;
  readonly read: () => Promise<Uint8Array>;
}

/** Limit per folder: beyond it capturing pauses. Images that wait for upload are never dropped. */
const spoolLimitBytes = 2 * 1024 ** 3;

const failedFolder = 'failed';

/**
 * Names of our files, including atomicWrite's temporary names. All other files in a folder belong to other programs and
 * stay untouched.
 */
const ownName = /-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z-[0-9a-f]{8}\.(?:jpg|png)(?:\.json)?(?:\.[0-9a-f]+\.tmp)?$/;

/**
 * Images on disk that wait for upload. An image is valid once its record exists: the image is written first and removed
 * last. A power failure leaves at most an image without a record, which the next start removes.
 */
export class CaptureSpool {
  /** Changes with each added image. */
  readonly added = new Cell(0);
  readonly #limitBytes: number;
  readonly #opened = new Map<string, Promise<void>>();
  readonly #sizes = new Map<string, number>();

  constructor(limitBytes = spoolLimitBytes) {
    this.#limitBytes = limitBytes;
  }

  /** Creates the folder and removes what a power failure left; runs once, before other operations. */
  open(folder: string): Promise<void> {
    const opened = this.#opened.get(folder) ?? prepare(folder).then((bytes) => this.#grow(folder, bytes));
    this.#opened.set(folder, opened);
    opened.catch(() => this.#opened.delete(folder)); // the next call retries
    return opened;
  }

  /** @throws Error when the folder is full or not writable. */
  async add(folder: string, bytes: Uint8Array, of: Omit<CaptureRecord, 'file_name'>): Promise<CaptureRecord> {
    await this.open(folder);
    const size = this.#sizes.get(folder) ?? 0;
    if (size + bytes.length > this.#limitBytes) {
      throw new Error(`${folder} holds ${size} bytes that wait to be uploaded, the limit is ${this.#limitBytes}`);
    }
    const record: CaptureRecord = { file_name: fileName(of), ...of };
    await atomicWrite(path.join(folder, record.file_name), bytes, { mode: 0o600 });
    await atomicWrite(path.join(folder, recordName(record)), JSON.stringify(record), { mode: 0o600 });
    this.#grow(folder, bytes.length);
    this.added.update((count) => count + 1);
    return record;
  }

  /** The waiting images in `folder`, oldest first. Moves an unreadable record to `failed/`. */
  async waiting(folder: string): Promise<readonly SpooledCapture[]> {
    await this.open(folder);
    const names = (await entries(folder)).filter((name) => name.endsWith('.json'));
    const captures: SpooledCapture[] = [];
    for (const name of names) {
      const record = readRecord(await readFile(path.join(folder, name), 'utf8').catch(() => ''));
      if (record === undefined || recordName(record) !== name) {
        await moveToFailed(folder, [name]);
        continue;
      }
      captures.push({ record, folder, read: () => readFile(path.join(folder, record.file_name)) });
    }
    return captures.toSorted((a, b) => a.record.taken_ms - b.record.taken_ms);
  }

  /** Removes an uploaded image. */
  async done({ folder, record }: SpooledCapture): Promise<void> {
    await rm(path.join(folder, recordName(record)), { force: true });
    await this.#shrink(folder, record.file_name);
    await rm(path.join(folder, record.file_name), { force: true });
  }

  /** Moves a permanently rejected image to `failed/`, with the reason. */
  async fail({ folder, record }: SpooledCapture, problem: string): Promise<void> {
    await mkdir(path.join(folder, failedFolder), { recursive: true });
    const reason = JSON.stringify({ ...record, problem });
    await atomicWrite(path.join(folder, failedFolder, recordName(record)), reason, { mode: 0o600 });
    await rm(path.join(folder, recordName(record)), { force: true });
    await this.#shrink(folder, record.file_name);
    await moveToFailed(folder, [record.file_name]);
  }

  async #shrink(folder: string, file: string): Promise<void> {
    const { size } = await stat(path.join(folder, file)).catch(() => ({ size: 0 }));
    this.#grow(folder, -size);
  }

  #grow(folder: string, bytes: number): void {
    this.#sizes.set(folder, (this.#sizes.get(folder) ?? 0) + bytes);
  }
}

function fileName({ camera, taken_ms: taken, format }: Omit<CaptureRecord, 'file_name'>): string {
  const time = new Date(taken).toISOString().replaceAll(':', '-');
  const name = camera.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 100);
  return `${name}-${time}-${crypto.randomUUID().slice(0, 8)}${extensions[format]}`;
}

const recordName = (record: CaptureRecord): string => `${record.file_name}.json`;

/** Our own files, sorted by name. */
async function entries(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => ownName.test(name)).toSorted();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw new Error(`${folder} can't be read: ${errorText(error)}`, { cause: error });
  }
}

/**
 * Creates the folder, removes images without a record and incomplete files, and returns the total size of the others.
 */
async function prepare(folder: string): Promise<number> {
  await mkdir(folder, { recursive: true });
  const names = await entries(folder);
  let size = 0;
  for (const name of names) {
    const isImage = /\.(jpg|png)$/.test(name);
    if (name.endsWith('.tmp') || (isImage && !names.includes(`${name}.json`))) {
      await rm(path.join(folder, name), { force: true });
    } else if (isImage) {
      size += (await stat(path.join(folder, name))).size;
    }
  }
  return size;
}

async function moveToFailed(folder: string, names: readonly string[]): Promise<void> {
  await mkdir(path.join(folder, failedFolder), { recursive: true });
  for (const name of names) {
    await rename(path.join(folder, name), path.join(folder, failedFolder, name)).catch(() => {});
  }
}

function readRecord(text: string): CaptureRecord | undefined {
  try {
    const value = JSON.parse(text) as CaptureRecord;
    const isRecord =
      typeof value.file_name === 'string' &&
      path.basename(value.file_name) === value.file_name &&
      typeof value.camera === 'string' &&
      (value.format === 'jpeg' || value.format === 'png') &&
      Number.isFinite(value.taken_ms) &&
      Array.isArray(value.tags) &&
      Array.isArray(value.dataset_ids) &&
      (value.annotations === undefined ||
        (Array.isArray(value.annotations.bboxes) && Array.isArray(value.annotations.classifications)));
    return isRecord ? value : undefined;
  } catch {
    return undefined;
  }
}
