// Applies patches in the VCDIFF format (RFC 3284) without secondary compression: from our own encoder, or from `xdelta3
// -e -S none`. Memory holds one window of the new file and its instructions; the old file is read in place. The whole
// patch may be compressed with zstd. Decision 0013.
import { Readable } from 'node:stream';
import { constants, createZstdDecompress } from 'node:zlib';
import { adler32, codeKinds, codeTable } from './vcdiff-codes.ts';

/** The patch is damaged, uses an unsupported part of the format, or does not fit the file. */
export class PatchRefused extends Error {
  override readonly name = 'PatchRefused';
}

export interface PatchOptions {
  /** The patch in chunks of any size. */
  readonly patch: AsyncIterable<Uint8Array>;
  /** Bytes of the old file from `at`; fewer than requested only at its end. */
  readonly source: (at: number, length: number) => Promise<Uint8Array>;
  /** Receives the new file in chunks. The bytes are valid only until it resolves. */
  readonly write: (bytes: Uint8Array) => Promise<void>;
  /** Size limit of the new file; larger results are refused. */
  readonly limitBytes: number;
  /** Size limit of one window of the new file, which is in memory. */
  readonly windowLimitBytes?: number;
}

const standardWindowLimit = 8 << 20;

/**
 * Creates the new file. The caller must verify its hash: a patch for another file may apply by chance.
 *
 * @returns size of the new file.
 * @throws PatchRefused
 */
export async function applyPatch({
  patch,
  source,
  write,
  limitBytes,
  windowLimitBytes = standardWindowLimit,
}: PatchOptions): Promise<number> {
  const input = new Input(unpacked(patch));
  try {
    const magic = await input.take(5);
    if (magic[0] !== 0xd6 || magic[1] !== 0xc3 || magic[2] !== 0xc4 || magic[3] !== 0) refuse('not a VCDIFF patch');
    const header = magic[4] ?? 0;
    if ((header & 3) !== 0) refuse('it uses secondary compression or a code table of its own');
    if (header > 7) refuse('unknown flags of the file');
    if ((header & 4) !== 0) await input.take(await input.integer(), 1 << 16); // application data of the encoder
    const pages = new Pages(source);
    let size = 0;
    let scratch = new Uint8Array(0);
    while (!(await input.isAtEnd())) {
      const window = await readWindow(input, { limitBytes: limitBytes - size, windowLimitBytes });
      if (scratch.length < window.length) scratch = new Uint8Array(window.length);
      const target = scratch.subarray(0, window.length);
      await fill(target, window, pages);
      if (window.checksum !== undefined && adler32(target) !== window.checksum) refuse('a window has a wrong checksum');
      await write(target);
      size += target.length;
    }
    return size;
  } finally {
    await input.close();
  }
}

function refuse(why: string): never {
  throw new PatchRefused(`patch refused: ${why}`);
}

const zstdMagic = [0x28, 0xb5, 0x2f, 0xfd];
/** Memory limit of the decompression: 8 MiB. */
const zstdWindowLog = 23;

/** Decompresses the patch if it starts with the magic number of zstd. */
async function* unpacked(patch: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const pieces = patch[Symbol.asyncIterator]();
  let first: Uint8Array = new Uint8Array(0);
  let isOver = false;
  while (first.length < zstdMagic.length && !isOver) {
    const next = await pieces.next();
    if (next.done === true) isOver = true;
    else first = Buffer.concat([first, next.value]);
  }
  const broken: { by?: unknown } = {};
  const whole = async function* (): AsyncGenerator<Uint8Array> {
    try {
      yield first;
      for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
    } catch (error) {
      broken.by = error;
      throw error;
    } finally {
      await pieces.return?.();
    }
  };
  if (!zstdMagic.every((byte, i) => first[i] === byte)) return yield* whole();
  const packed = Readable.from(whole(), { objectMode: false });
  const stream = createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: zstdWindowLog } });
  packed.on('error', (error) => stream.destroy(error));
  try {
    for await (const piece of packed.pipe(stream)) yield piece as Uint8Array;
  } catch (error) {
    if (broken.by !== undefined) throw broken.by;
    throw new PatchRefused(
      `patch refused: it is badly packed: ${error instanceof Error ? error.message : String(error)}`,
      {
        cause: error,
      },
    );
  } finally {
    packed.destroy();
    stream.destroy();
  }
}

/** Reads the patch in bytes and in chunks. */
class Input {
  readonly #pieces: AsyncIterator<Uint8Array>;
  #piece: Uint8Array = new Uint8Array(0);
  #at = 0;

  constructor(patch: AsyncIterable<Uint8Array>) {
    this.#pieces = patch[Symbol.asyncIterator]();
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#at === this.#piece.length) {
      const next = await this.#pieces.next();
      if (next.done === true) return true;
      this.#piece = next.value;
      this.#at = 0;
    }
    return false;
  }

  async byte(): Promise<number> {
    if (await this.isAtEnd()) refuse('it ends too early');
    return this.#piece[this.#at++] ?? 0;
  }

  /** Seven bits per byte, most significant first. */
  async integer(): Promise<number> {
    for (let value = 0, n = 0; n < 7; n++) {
      const byte = await this.byte();
      value = value * 128 + (byte & 127);
      if (byte < 128) return value;
    }
    return refuse('a number is too long');
  }

  async take(length: number, limit = Infinity): Promise<Uint8Array> {
    if (length > limit) refuse(`a part of ${length} bytes`);
    const taken = new Uint8Array(length);
    for (let had = 0; had < length;) {
      if (await this.isAtEnd()) refuse('it ends too early');
      const part = this.#piece.subarray(this.#at, this.#at + length - had);
      taken.set(part, had);
      this.#at += part.length;
      had += part.length;
    }
    return taken;
  }

  async close(): Promise<void> {
    await this.#pieces.return?.();
  }
}

interface Window {
  /** Bytes of the new file in this window. */
  readonly length: number;
  /** The part of the old file to which addresses below segmentLength refer. */
  readonly segmentAt: number;
  readonly segmentLength: number;
  readonly checksum: number | undefined;
  readonly data: Uint8Array;
  readonly codes: Uint8Array;
  readonly addresses: Uint8Array;
}

const flag = { source: 1, target: 2, checksum: 4 } as const;

async function readWindow(
  input: Input,
  { limitBytes, windowLimitBytes }: { limitBytes: number; windowLimitBytes: number },
): Promise<Window> {
  const flags = await input.byte();
  if ((flags & flag.target) !== 0) refuse('it copies from the new file itself');
  if (flags > 7) refuse('unknown flags of a window');
  const segmentLength = (flags & flag.source) !== 0 ? await input.integer() : 0;
  const segmentAt = (flags & flag.source) !== 0 ? await input.integer() : 0;
  const encoded = await input.integer();
  const length = await input.integer();
  if (length > windowLimitBytes) refuse(`a window of ${length} bytes, the limit is ${windowLimitBytes}`);
  if (length > limitBytes) refuse('it leads to a file that is larger than expected');
  if (length === 0) refuse('an empty window');
  if ((await input.byte()) !== 0) refuse('compressed sections');
  const dataLength = await input.integer();
  const codesLength = await input.integer();
  const addressesLength = await input.integer();
  const checksumLength = (flags & flag.checksum) !== 0 ? 4 : 0;
  const sectionsLength = dataLength + codesLength + addressesLength + checksumLength;
  const headLength = 1 + [length, dataLength, codesLength, addressesLength].reduce((n, v) => n + integerBytes(v), 0);
  // A byte of data produces at least one byte of the new file. Codes and addresses need less than two bytes each,
  // except in tiny files.
  const mostLength = 2 * length + 64;
  if (
    dataLength > length ||
    codesLength > mostLength ||
    addressesLength > mostLength ||
    encoded !== sectionsLength + headLength
  )
    refuse('the lengths of its sections do not fit');
  const sum = checksumLength > 0 ? await input.take(4) : undefined;
  return {
    length,
    segmentAt,
    segmentLength,
    checksum: sum && new DataView(sum.buffer).getUint32(0),
    data: await input.take(dataLength),
    codes: await input.take(codesLength),
    addresses: await input.take(addressesLength),
  };
}

const integerBytes = (value: number): number => {
  let bytes = 1;
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes++;
  return bytes;
};

/** One of the three sections of a window. */
class Section {
  readonly #bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at === this.#bytes.length;
  }

  byte(): number {
    const byte = this.#bytes[this.at++];
    return byte ?? refuse('a section ends too early');
  }

  integer(): number {
    for (let value = 0, n = 0; n < 7; n++) {
      const byte = this.byte();
      value = value * 128 + (byte & 127);
      if (byte < 128) return value;
    }
    return refuse('a number is too long');
  }

  take(length: number): Uint8Array {
    if (length > this.#bytes.length - this.at) refuse('a section ends too early');
    this.at += length;
    return this.#bytes.subarray(this.at - length, this.at);
  }
}

async function fill(target: Uint8Array, window: Window, pages: Pages): Promise<void> {
  const [data, codes, addresses] = [new Section(window.data), new Section(window.codes), new Section(window.addresses)];
  const { segmentAt, segmentLength } = window;
  const near = new Uint32Array(4);
  const same = new Uint32Array(768);
  let nextNear = 0;
  let filled = 0;

  const address = (mode: number): number => {
    const here = segmentLength + filled;
    let from: number;
    if (mode === 0) from = addresses.integer();
    else if (mode === 1) from = here - addresses.integer();
    else if (mode <= 5) from = (near[mode - 2] ?? 0) + addresses.integer();
    else from = same[(mode - 6) * 256 + addresses.byte()] ?? 0;
    if (!(from >= 0 && from < here)) refuse('an address outside of what is there');
    near[nextNear] = from;
    nextNear = (nextNear + 1) & 3;
    same[from % 768] = from;
    return from;
  };

  while (!codes.isAtEnd) {
    const row = codes.byte() * 6;
    for (let half = row; half <= row + 3; half += 3) {
      const kind = codeTable[half] ?? 0;
      if (kind === codeKinds.none) continue;
      let left = codeTable[half + 1] || codes.integer();
      if (left > target.length - filled) refuse('instructions for more than the window');
      if (kind === codeKinds.add) {
        target.set(data.take(left), filled);
        filled += left;
      } else if (kind === codeKinds.run) {
        target.fill(data.byte(), filled, filled + left);
        filled += left;
      } else {
        let from = address(codeTable[half + 2] ?? 0);
        while (left > 0 && from < segmentLength) {
          // Await only a missing page: most pages are cached.
          const page = pages.at(segmentAt + from) ?? (await pages.load(segmentAt + from));
          const part = page.subarray(0, Math.min(left, segmentLength - from));
          if (part.length === 0) refuse('the old file is shorter than the patch expects');
          target.set(part, filled);
          from += part.length;
          filled += part.length;
          left -= part.length;
        }
        if (left > 0) {
          copyWithin(target, from - segmentLength, filled, left);
          filled += left;
        }
      }
    }
  }
  if (filled !== target.length || !data.isAtEnd || !addresses.isAtEnd) refuse('a window is not filled exactly');
}

/** A copy that overlaps its own output repeats it. */
function copyWithin(target: Uint8Array, from: number, to: number, length: number): void {
  for (let done = 0; done < length;) {
    const part = Math.min(length - done, to + done - from);
    target.copyWithin(to + done, from, from + part);
    done += part;
  }
}

const pageBytes = 1 << 16;
const keptPages = 64;

/** Cache of pages of the old file. */
class Pages {
  readonly #source: PatchOptions['source'];
  readonly #pages = new Map<number, Uint8Array>();

  constructor(source: PatchOptions['source']) {
    this.#source = source;
  }

  /** The bytes from here to the end of a cached page. */
  at(position: number): Uint8Array | undefined {
    return this.#pages.get(Math.floor(position / pageBytes))?.subarray(position % pageBytes);
  }

  async load(position: number): Promise<Uint8Array> {
    const number = Math.floor(position / pageBytes);
    if (this.#pages.size >= keptPages) {
      const [oldest] = this.#pages.keys();
      if (oldest !== undefined) this.#pages.delete(oldest);
    }
    const page = await this.#source(number * pageBytes, pageBytes);
    this.#pages.set(number, page);
    return page.subarray(position % pageBytes);
  }
}
