import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import { isSignedBy } from '@platform/releases/archive-signature';
import { signatureFile, sumsFile } from './contents.ts';

/** By pieces: an archive has half a gigabyte. @returns 64 hex digits. */
export function sha256OfFile(file: string): string {
  const hash = createHash('sha256');
  const piece = Buffer.alloc(1 << 20);
  const descriptor = openSync(file, 'r');
  try {
    for (let read = readSync(descriptor, piece); read > 0; read = readSync(descriptor, piece))
      hash.update(piece.subarray(0, read));
    return hash.digest('hex');
  } finally {
    closeSync(descriptor);
  }
}

/** One line for each file, in the format of sha256sum. */
export const formatSums = (sums: ReadonlyMap<string, string>): string =>
  [...sums].map(([file, sha256]) => `${sha256}  ${file}\n`).join('');

function parseSums(text: string): Map<string, string> {
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
}

/**
 * Compares a folder with its signed list of sums.
 *
 * @param publicPem - the key that must have signed the list (Ed25519, SPKI PEM).
 * @param required - files that the release must have.
 * @returns the problems, each with the name of the file; empty: none.
 */
export function checkSums(folder: string, publicPem: string, required: readonly string[]): string[] {
  if (!existsSync(path.join(folder, signatureFile))) return [`${signatureFile} is missing`];
  const list = readFileSync(path.join(folder, sumsFile));
  if (!isSignedBy(list, readFileSync(path.join(folder, signatureFile)), publicPem))
    return [`${sumsFile} is not signed by this key: do not use this release`];
  const sums = parseSums(list.toString('utf8'));
  const present = new Set(readdirSync(folder));
  const known = new Set([...sums.keys(), sumsFile, signatureFile]);
  return [
    ...required.filter((file) => !sums.has(file)).map((file) => `${file} is not in ${sumsFile}`),
    ...[...present].filter((file) => !known.has(file)).map((file) => `${file} is not in ${sumsFile}`),
    ...[...sums].flatMap(([file, sha256]) => {
      if (!present.has(file)) return [`${file} is missing`];
      const found = sha256OfFile(path.join(folder, file));
      return found === sha256 ? [] : [`${file} was altered: its sha256 is ${found}, the signed one is ${sha256}`];
    }),
  ];
}
