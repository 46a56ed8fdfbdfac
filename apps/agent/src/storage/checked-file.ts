import type { Disk } from '../os/ports.ts';
import { checksum } from './checksum.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One line: checksum, space, JSON. */
export function encodeChecked(value: unknown): Uint8Array {
  const json = JSON.stringify(value);
  return encoder.encode(`${checksum(encoder.encode(json))} ${json}\n`);
}

/** Returns undefined if the file is damaged or has another format. */
export function decodeChecked(bytes: Uint8Array | undefined): { value: unknown } | undefined {
  const text = decoder.decode(bytes ?? new Uint8Array()).trimEnd();
  const json = text.slice(9);
  if (json === '' || text[8] !== ' ' || checksum(encoder.encode(json)) !== text.slice(0, 8)) return undefined;
  try {
    return { value: JSON.parse(json) as unknown };
  } catch {
    return undefined;
  }
}

const lastGood = (file: string): string => `${file}.last-good`;

/**
 * `value` undefined: neither the file nor its copy can be used. `problem` undefined: the file was intact, or never
 * existed.
 */
export interface Checked<T> {
  value: T | undefined;
  /** What was wrong with the file, for users. */
  problem: string | undefined;
}

/**
 * Reads what `writeChecked` wrote. If the file is damaged or `parse` throws, the copy of the last intact one is used.
 * Never throws: an unreadable state must not stop the agent.
 *
 * @param parse - makes a T of the JSON value. It should accept unknown members (a newer agent wrote them).
 */
export async function readChecked<T>(disk: Disk, file: string, parse: (value: unknown) => T): Promise<Checked<T>> {
  const attempt = async (name: string): Promise<Checked<T> & { isThere: boolean }> => {
    try {
      const bytes = await disk.read(name);
      if (!bytes) return { value: undefined, problem: undefined, isThere: false };
      const decoded = decodeChecked(bytes);
      if (!decoded) return { value: undefined, problem: `${name} is damaged`, isThere: true };
      return { value: parse(decoded.value), problem: undefined, isThere: true };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { value: undefined, problem: `${name} cannot be used: ${why}`, isThere: true };
    }
  };
  const first = await attempt(file);
  if (first.value !== undefined) return { value: first.value, problem: undefined };
  const copy = await attempt(lastGood(file));
  if (!first.isThere && !copy.isThere) return { value: undefined, problem: undefined };
  return { value: copy.value, problem: first.problem ?? copy.problem ?? `${file} is gone` };
}

/** Removes the file and its copy. Ignores errors of the disk and never throws. */
export async function forgetChecked(disk: Disk, file: string): Promise<void> {
  for (const name of [file, lastGood(file)]) await disk.remove(name).catch(() => {});
}

/**
 * Replaces the file; its previous content, if intact, becomes the copy. Durable when it resolves.
 *
 * @throws what the disk throws; then the file has its old or its new content.
 */
export async function writeChecked(disk: Disk, file: string, value: unknown): Promise<void> {
  const bytes = encodeChecked(value);
  const before = await disk.read(file).catch(() => undefined);
  if (before && decodeChecked(before) && decoder.decode(before) !== decoder.decode(bytes)) {
    await disk.write(lastGood(file), before);
  }
  await disk.write(file, bytes);
}
