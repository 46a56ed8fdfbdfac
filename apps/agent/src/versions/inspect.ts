import { createHash, type Hash } from 'node:crypto';
import { nameOf, type Program } from './layout.ts';

/** What the build recorded in the file about itself. */
export interface BuildNote {
  name: string;
  version: string;
  platform: string;
}

/** What a file contains, found without running it. */
export interface Inspected {
  sha256: string;
  sizeBytes: number;
  kind: 'elf' | 'pe' | 'mach' | 'script' | 'other';
  /** linux/amd64 …; an ELF header names the machine only, so `linux` is assumed. Undefined: not stated. */
  platform: string | undefined;
  note: BuildNote | undefined;
}

const headBytes = 4096;
const tailBytes = 64 * 1024;
const marker = ['\nPLATFORM', 'PROGRAM:'].join('-');

const elfMachines: Readonly<Record<number, string>> = { 62: 'linux/amd64', 183: 'linux/arm64', 40: 'linux/arm' };
const peMachines: Readonly<Record<number, string>> = { 0x8664: 'windows/amd64', 0xaa64: 'windows/arm64' };
const machMachines: Readonly<Record<number, string>> = { 0x01000007: 'darwin/amd64', 0x0100000c: 'darwin/arm64' };

/** Inspects a file as a stream: its hash, its header and the build note near its end. */
export class Inspector {
  readonly #hash: Hash = createHash('sha256');
  #sizeBytes = 0;
  #head = Buffer.alloc(0);
  #tail: Uint8Array[] = [];
  #tailBytes = 0;

  update(chunk: Uint8Array): void {
    this.#hash.update(chunk);
    this.#sizeBytes += chunk.length;
    if (this.#head.length < headBytes) {
      this.#head = Buffer.concat([this.#head, chunk.subarray(0, headBytes - this.#head.length)]);
    }
    this.#tail.push(chunk.slice(-tailBytes));
    this.#tailBytes += Math.min(chunk.length, tailBytes);
    while (this.#tail.length > 1 && this.#tailBytes - this.#tail[0]!.length >= tailBytes) {
      this.#tailBytes -= this.#tail.shift()!.length;
    }
  }

  /** Call once. */
  finish(): Inspected {
    return {
      sha256: this.#hash.digest('hex'),
      sizeBytes: this.#sizeBytes,
      ...formOf(this.#head),
      note: noteOf(Buffer.concat(this.#tail).subarray(-tailBytes)),
    };
  }
}

/** The platform of an ELF file by its first 20 bytes; undefined: it is none. */
export function elfPlatform(head: Buffer): string | undefined {
  const { kind, platform } = formOf(head);
  return kind === 'elf' ? platform : undefined;
}

function formOf(head: Buffer): Pick<Inspected, 'kind' | 'platform'> {
  const magic = head.toString('latin1', 0, 4);
  if (magic === '\x7fELF' && head.length >= 20) {
    const isOurs = head[4] === 2 && head[5] === 1; // 64 bits, little endian
    const machine = head.readUInt16LE(18);
    return { kind: 'elf', platform: isOurs ? (elfMachines[machine] ?? `machine ${machine}`) : 'another word size' };
  }
  if (magic.startsWith('MZ')) {
    const at = head.length >= 64 ? head.readUInt32LE(60) : 0;
    if (at === 0 || at + 6 > head.length || head.toString('latin1', at, at + 4) !== 'PE\0\0') {
      return { kind: 'other', platform: undefined };
    }
    const machine = head.readUInt16LE(at + 4);
    return { kind: 'pe', platform: peMachines[machine] ?? `machine ${machine}` };
  }
  if (magic === '\xcf\xfa\xed\xfe' && head.length >= 8) {
    return { kind: 'mach', platform: machMachines[head.readUInt32LE(4)] ?? 'another machine' };
  }
  return { kind: magic.startsWith('#!') ? 'script' : 'other', platform: undefined };
}

function noteOf(tail: Buffer): BuildNote | undefined {
  const at = tail.lastIndexOf(marker, undefined, 'latin1');
  if (at === -1) return undefined;
  const begin = at + marker.length;
  const end = tail.indexOf('\n', begin);
  try {
    const note = JSON.parse(tail.toString('utf8', begin, end === -1 ? tail.length : end)) as Partial<BuildNote>;
    if (typeof note.name !== 'string' || typeof note.version !== 'string') return undefined;
    return { name: note.name, version: note.version, platform: String(note.platform ?? '') };
  } catch {
    return undefined;
  }
}

/** Why this file must not be used as that program on that platform; undefined: it may. */
export function refusalOf(found: Inspected, program: Program, platform: string): string | undefined {
  const name = nameOf(program);
  if (found.kind === 'other') return 'it is not a program';
  if (found.platform !== undefined && found.platform !== platform) {
    return `it is a program for ${found.platform}, and this machine is ${platform}`;
  }
  if (!found.note) {
    // A machine server may be a custom build or a script. A file without our note in place of the agent could never be
    // replaced.
    return program === 'server' ? undefined : `it does not say that it is ${name}`;
  }
  if (found.note.name !== name) return `it is ${found.note.name} and not ${name}`;
  if (found.note.platform !== '' && found.note.platform !== platform) {
    return `it was built for ${found.note.platform}, and this machine is ${platform}`;
  }
  return undefined;
}
