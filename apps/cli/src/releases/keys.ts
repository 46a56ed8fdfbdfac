import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { PlatformError } from '@platform/contract/errors/errors';
import { type KeyRing, readKeyFolders } from '@platform/releases/key-folder';
import { defaultDataFolder, releaseKeyFolder } from '../data-folder.ts';

/**
 * Folders to search for keys: --keys, PLATFORM_RELEASE_KEYS (several separated by `:`), otherwise those of the platform
 * started here.
 */
export function keyFolders(flags: { keys?: readonly string[] }, env = process.env): string[] {
  const named = flags.keys ?? env['PLATFORM_RELEASE_KEYS']?.split(path.delimiter) ?? [];
  return named.length > 0 ? named.map((folder) => path.resolve(folder)) : [releaseKeyFolder(defaultDataFolder())];
}

/** Reads all keys; prompts for the passphrase at a terminal if a key is encrypted and none was given. */
export async function openKeys(flags: { keys?: readonly string[] }): Promise<KeyRing> {
  const folders = keyFolders(flags);
  const given = passphraseOf();
  try {
    return await readKeyFolders(folders, given);
  } catch (error) {
    const isLocked = error instanceof PlatformError && error.code === 'SIGNING_KEY_UNREADABLE';
    if (!isLocked || given !== undefined || !process.stdin.isTTY) throw error;
    return readKeyFolders(folders, await asked('Passphrase of the release keys: '));
  }
}

export const passphraseOf = (env = process.env): string | undefined => env['PLATFORM_RELEASE_PASSPHRASE'] || undefined;

/** Reads a line without echo. */
async function asked(question: string): Promise<string> {
  process.stderr.write(question);
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const asking = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await asking.question('');
  } finally {
    asking.close();
    process.stderr.write('\n');
  }
}
