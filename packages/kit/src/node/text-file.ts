import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { decodeText } from '../text.ts';

/**
 * Text of a file that users write: UTF-8 with or without a byte order mark, or UTF-16 with one.
 *
 * @throws NotText; the error of the operating system, with the path also if it is a folder
 */
export async function readText(file: string): Promise<string> {
  return decodeText(await readFile(file).catch((error: unknown) => withPath(error, file)), file);
}

/** Like `readText`. */
export function readTextSync(file: string): string {
  let bytes: Uint8Array;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    return withPath(error, file);
  }
  return decodeText(bytes, file);
}

/**
 * Text of PEM files: their blocks are ASCII, and the comments around them are in any encoding. Files of Windows may be
 * UTF-16.
 */
export const readPem = async (file: string): Promise<string> =>
  decodePem(await readFile(file).catch((error: unknown) => withPath(error, file)), file);

/** Like `readPem`. */
export function readPemSync(file: string): string {
  try {
    return decodePem(readFileSync(file), file);
  } catch (error) {
    return withPath(error, file);
  }
}

function decodePem(bytes: Buffer, file: string): string {
  const isMarked = bytes[0] === 0xef || bytes[0] === 0xff || bytes[0] === 0xfe;
  return isMarked ? decodeText(bytes, file) : bytes.toString('latin1');
}

/** All of stdin as text. @throws NotText; Error if it is longer than the limit */
export async function readStdin({ limitBytes = Infinity }: { limitBytes?: number } = {}): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limitBytes) throw new Error(`it is longer than ${limitBytes} bytes`);
    chunks.push(chunk);
  }
  return decodeText(Buffer.concat(chunks), 'stdin');
}

/** Node omits the path when it is a folder. */
function withPath(error: unknown, file: string): never {
  throw error instanceof Error && 'code' in error ? Object.assign(error, { path: file }) : error;
}
