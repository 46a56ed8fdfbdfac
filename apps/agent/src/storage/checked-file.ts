import type { Disk } from '../os/ports.ts';
import { checksum } from './checksum.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One line: checksum, blank, JSON. */
export function encodeChecked(value: unknown): Uint8Array {
  const json = JSON.stringify(value);
  return encoder.encode(`${checksum(encoder.encode(json))} ${json}\n`);
}

/** Undefined: damaged, or not such a file. */
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

/** `value` undefined: neither the file nor its copy can be used; `problem` undefined: the file was whole, or never there. */
export interface Checked<T> {
  value: T | undefined;
  /** What was wrong with the file, for people. */
  problem: string | undefined;
}

/**
 * Reads what `writeChecked` wrote. A file that is damaged, or that `parse` throws at, is passed over for the copy of
 * the last one that was good. Never throws: an unreadable state must not end the agent.
 *
 * @param parse - makes a T of the JSON value; may accept members that it does not know (a newer agent wrote them).
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

/** Removes the file and its copy, so far as the disk lets it. Never throws. */
export async function forgetChecked(disk: Disk, file: string): Promise<void> {
  for (const name of [file, lastGood(file)]) await disk.remove(name).catch(() => {});
}

/**
 * Replaces the file; what it held before, if it was whole, becomes the copy. Durable when it resolves.
 *
 * @throws what the disk throws; then the old file or the new one is there.
 */
export async function writeChecked(disk: Disk, file: string, value: unknown): Promise<void> {
  const bytes = encodeChecked(value);
  const before = await disk.read(file).catch(() => undefined);
  if (before && decodeChecked(before) && decoder.decode(before) !== decoder.decode(bytes)) {
    await disk.write(lastGood(file), before);
  }
  await disk.write(file, bytes);
}
