import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { PlatformError } from '@platform/contract/errors/errors';
import { isNotText } from '@platform/kit';
import { readText } from '@platform/kit/node';
import type { ProgramWords } from '@platform/releases/targets';

/** A file to publish, with its metadata. */
export interface ProgramFile extends ProgramWords {
  readonly file: string;
  readonly bytes: Buffer<ArrayBuffer>;
  readonly sha256: string;
}

const noteMark = '\nPLATFORM-PROGRAM:';
const noteReach = 1 << 16;

/** Reads name, version and platform from the note in the file, or from <file>.json beside it. */
export async function readProgram(file: string): Promise<ProgramFile> {
  const bytes = await readFile(file);
  const words = noteOf(bytes) ?? (await besideOf(file));
  if (!words) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'file',
      value: file,
      limit: `a program built with its note, or with ${file}.json that names its name, version and platform`,
    });
  }
  return { ...words, file, bytes, sha256: createHash('sha256').update(bytes).digest('hex') };
}

/** The build appends the note; a Windows signature may follow it. */
function noteOf(bytes: Buffer): ProgramWords | undefined {
  const tail = bytes.subarray(-noteReach).toString('latin1');
  const at = tail.lastIndexOf(noteMark);
  if (at < 0) return undefined;
  const line = tail.slice(at + noteMark.length);
  return wordsOf(line.slice(0, line.indexOf('\n') < 0 ? undefined : line.indexOf('\n')));
}

async function besideOf(file: string): Promise<ProgramWords | undefined> {
  const text = await readText(`${file}.json`).catch((error: unknown) => {
    if (isNotText(error)) throw error;
    return '';
  });
  return wordsOf(text);
}

function wordsOf(text: string): ProgramWords | undefined {
  try {
    const { name, version, platform } = JSON.parse(text) as Record<string, unknown>;
    if (typeof name === 'string' && typeof version === 'string' && typeof platform === 'string')
      return { name, version, platform };
  } catch {
    // missing, or not JSON
  }
  return undefined;
}
