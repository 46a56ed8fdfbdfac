// Creates patches in the VCDIFF format (RFC 3284) for `applyPatch` and any other decoder. Designed for programs of
// about 100 MB with small differences. A rolling hash finds moved blocks. Blocks that changed in place are found by
// continuing at the offset of the last copy. Decision 0013.
import { adler32, codeKinds, codeTable } from './vcdiff-codes.ts';

const windowBytes = 4 << 20;
/** Size and spacing of the indexed blocks of the old file. */
const blockBytes = 16;
/** Shorter copies are not smaller than the bytes themselves. */
const leastGoingOn = 5;
/** A continued copy of this length is taken without a search for a longer one. */
const enoughBytes = 64;
const leastRun = 24;

/**
 * Creates a patch that turns `before` into `after`. Needs memory for both, plus about half of `before`.
 *
 * @returns the patch in pieces; their concatenation is one file.
 */
export function* makePatch(before: Uint8Array, after: Uint8Array): Generator<Uint8Array> {
  yield Uint8Array.of(0xd6, 0xc3, 0xc4, 0, 0);
  const index = new BlockIndex(before);
  for (let start = 0; start < after.length; start += windowBytes) {
    yield* encodeWindow(before, after, start, Math.min(start + windowBytes, after.length), index);
  }
}

const power = 0x01_00_01_93;
/** The factor of a block's first byte when its last byte is added to the hash. */
const firstPower = Array.from({ length: blockBytes - 1 }).reduce<number>((value) => Math.imul(value, power), 1);

/** Position of one block of the old file per hash. */
class BlockIndex {
  readonly #slots: Int32Array;
  readonly #shift: number;

  constructor(bytes: Uint8Array) {
    const blocks = Math.floor(bytes.length / blockBytes);
    const bits = Math.max(8, Math.ceil(Math.log2(blocks + 1)) + 1);
    this.#slots = new Int32Array(2 ** bits);
    this.#shift = 32 - bits;
    for (let block = 0; block < blocks; block++) {
      let hash = 0;
      for (let at = block * blockBytes, end = at + blockBytes; at < end; at++)
        hash = (Math.imul(hash, power) + (bytes[at] ?? 0)) | 0;
      const slot = this.#slot(hash);
      if (this.#slots[slot] === 0) this.#slots[slot] = block + 1;
    }
  }

  #slot(hash: number): number {
    return Math.imul(hash, 0x9e_37_79_b1) >>> this.#shift;
  }

  /** A position in the old file whose block may have this hash; negative if none exists. */
  find(hash: number): number {
    return ((this.#slots[this.#slot(hash)] ?? 0) - 1) * blockBytes;
  }
}

interface Match {
  /** Position in the old file. */
  from: number;
  length: number;
}

/** Finds copies for one window, whose positions it is given in ascending order. */
class MatchFinder {
  readonly #before: Uint8Array;
  readonly #after: Uint8Array;
  readonly #end: number;
  readonly #index: BlockIndex;
  #hash = 0;
  /** Start of the block of `#hash`. */
  #hashed = -2;

  constructor(before: Uint8Array, after: Uint8Array, end: number, index: BlockIndex) {
    this.#before = before;
    this.#after = after;
    this.#end = end;
    this.#index = index;
  }

  /** The longer of two matches: where the last copy continues, or at an indexed block. Undefined: none is worth it. */
  find(at: number, lastShift: number): Match | undefined {
    const continued = at + lastShift;
    const length = this.#matchLength(continued, at);
    const inPlace = length >= leastGoingOn ? { from: continued, length } : undefined;
    if (length >= enoughBytes || at + blockBytes > this.#end) return inPlace;
    const from = this.#index.find(this.#hashAt(at));
    const moved = this.#matchLength(from, at);
    return moved >= blockBytes && moved > (inPlace?.length ?? 0) ? { from, length: moved } : inPlace;
  }

  /** The hash of the block that begins here, computed from the previous one if that began a byte before. */
  #hashAt(at: number): number {
    const after = this.#after;
    if (this.#hashed === at - 1) {
      const gone = Math.imul(after[at - 1] ?? 0, firstPower);
      this.#hash = (Math.imul((this.#hash - gone) | 0, power) + (after[at + blockBytes - 1] ?? 0)) | 0;
    } else {
      this.#hash = 0;
      for (let i = at; i < at + blockBytes; i++) this.#hash = (Math.imul(this.#hash, power) + (after[i] ?? 0)) | 0;
    }
    this.#hashed = at;
    return this.#hash;
  }

  #matchLength(old: number, now: number): number {
    const [before, after] = [this.#before, this.#after];
    if (old < 0) return 0;
    const most = Math.min(before.length - old, this.#end - now);
    let length = 0;
    while (length < most && before[old + length] === after[now + length]) length++;
    return length;
  }
}

function* encodeWindow(
  before: Uint8Array,
  after: Uint8Array,
  start: number,
  end: number,
  index: BlockIndex,
): Generator<Uint8Array> {
  const writer = new WindowWriter(before.length);
  const finder = new MatchFinder(before, after, end, index);
  /** The window is written up to here. */
  let done = start;
  /** Old position minus new position of the last copy. */
  let shift = 0;
  let at = start;

  const flush = (to: number): void => {
    if (to > done) writer.add(after.subarray(done, to));
    done = to;
  };

  while (at < end) {
    const match = finder.find(at, shift);
    if (!match) {
      const same = runLength(after, at, end);
      if (same >= leastRun) {
        flush(at);
        writer.run(after[at] ?? 0, same);
        at = done = at + same;
      } else {
        at++;
      }
      continue;
    }
    let { from, length } = match;
    // The bytes before the block may match, too.
    while (at > done && from > 0 && before[from - 1] === after[at - 1]) {
      at--;
      from--;
      length++;
    }
    flush(at);
    writer.copy(from, length);
    shift = from - at;
    at = done = at + length;
  }
  flush(end);
  yield* writer.finish(after.subarray(start, end));
}

function runLength(bytes: Uint8Array, at: number, end: number): number {
  const byte = bytes[at];
  let length = 1;
  while (at + length < end && bytes[at + length] === byte) length++;
  return length;
}

/** A growing byte buffer. */
class Bytes {
  #bytes = new Uint8Array(1 << 12);
  length = 0;

  #room(more: number): void {
    if (this.length + more <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(2 * this.#bytes.length, this.length + more));
    larger.set(this.view());
    this.#bytes = larger;
  }

  byte(value: number): void {
    this.#room(1);
    this.#bytes[this.length++] = value;
  }

  all(bytes: Uint8Array): void {
    this.#room(bytes.length);
    this.#bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Seven bits per byte, most significant first. */
  integer(value: number): void {
    for (let rest = 128 ** (integerBytes(value) - 1); rest > 1; rest /= 128)
      this.byte((Math.floor(value / rest) % 128) | 128);
    this.byte(value % 128);
  }

  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }
}

const integerBytes = (value: number): number =>
  value < 128 ? 1 : value < 16_384 ? 2 : value < 2_097_152 ? 3 : value < 268_435_456 ? 4 : 5;

interface Instruction {
  readonly kind: number;
  readonly size: number;
  readonly mode: number;
}
const keyOf = (first: Instruction, second?: Instruction): number =>
  ((first.kind * 32 + first.size) * 16 + first.mode) * 8192 +
  (second ? (second.kind * 32 + second.size) * 16 + second.mode : 0);
const codes: ReadonlyMap<number, number> = new Map(
  Array.from({ length: 256 }, (_, code) => {
    const [kind = 0, size = 0, mode = 0, kind2 = 0, size2 = 0, mode2 = 0] = codeTable.subarray(code * 6, code * 6 + 6);
    return [keyOf({ kind, size, mode }, { kind: kind2, size: size2, mode: mode2 }), code] as const;
  }),
);

/** The three sections of a window, and the address cache as the decoder computes it. */
class WindowWriter {
  readonly #segmentLength: number;
  readonly #data = new Bytes();
  readonly #codes = new Bytes();
  readonly #addresses = new Bytes();
  readonly #near = new Uint32Array(4);
  readonly #same = new Uint32Array(768);
  #nextNear = 0;
  #filled = 0;
  /** Pending: one code may contain it and the next instruction. */
  #waiting: Instruction | undefined;

  constructor(segmentLength: number) {
    this.#segmentLength = segmentLength;
  }

  add(bytes: Uint8Array): void {
    this.#data.all(bytes);
    this.#put({ kind: codeKinds.add, size: bytes.length, mode: 0 });
  }

  run(byte: number, size: number): void {
    this.#data.byte(byte);
    this.#put({ kind: codeKinds.run, size, mode: 0 });
  }

  copy(from: number, size: number): void {
    this.#put({ kind: codeKinds.copy, size, mode: this.#address(from) });
  }

  /** Writes the address in its shortest encoding. */
  #address(from: number): number {
    const here = this.#segmentLength + this.#filled;
    let mode = 0;
    let value = from;
    const consider = (candidate: number, distance: number): void => {
      if (distance >= 0 && integerBytes(distance) < integerBytes(value)) [mode, value] = [candidate, distance];
    };
    consider(1, here - from);
    for (let i = 0; i < 4; i++) consider(i + 2, from - (this.#near[i] ?? 0));
    if (integerBytes(value) > 1 && this.#same[from % 768] === from) {
      mode = 6 + Math.floor((from % 768) / 256);
      this.#addresses.byte(from % 256);
    } else {
      this.#addresses.integer(value);
    }
    this.#near[this.#nextNear] = from;
    this.#nextNear = (this.#nextNear + 1) & 3;
    this.#same[from % 768] = from;
    return mode;
  }

  #put(next: Instruction): void {
    this.#filled += next.size;
    const waiting = this.#waiting;
    if (waiting && waiting.size < 32 && next.size < 32) {
      const both = codes.get(keyOf(waiting, next));
      if (both !== undefined) {
        this.#codes.byte(both);
        this.#waiting = undefined;
        return;
      }
    }
    this.#single();
    this.#waiting = next;
  }

  #single(): void {
    const one = this.#waiting;
    if (!one) return;
    const fixed = one.size < 32 ? codes.get(keyOf(one)) : undefined;
    this.#codes.byte(fixed ?? codes.get(keyOf({ ...one, size: 0 })) ?? 0);
    if (fixed === undefined) this.#codes.integer(one.size);
    this.#waiting = undefined;
  }

  *finish(target: Uint8Array): Generator<Uint8Array> {
    this.#single();
    const sections = [this.#data, this.#codes, this.#addresses];
    const head = new Bytes();
    head.integer(target.length);
    head.byte(0); // no section uses secondary compression
    for (const section of sections) head.integer(section.length);
    const sum = new Uint8Array(4);
    new DataView(sum.buffer).setUint32(0, adler32(target));
    head.all(sum);
    const window = new Bytes();
    window.byte(this.#segmentLength > 0 ? 5 : 4); // flags: checksum (4), source segment in the old file (1)
    if (this.#segmentLength > 0) {
      window.integer(this.#segmentLength);
      window.integer(0);
    }
    window.integer(sections.reduce((sum2, section) => sum2 + section.length, head.length));
    yield window.view();
    yield head.view();
    for (const section of sections) yield section.view();
  }
}
