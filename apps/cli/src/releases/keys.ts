import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { PlatformError } from '@platform/contract/errors';
import { type KeyRing, readKeyFolders } from '@platform/releases/key-folder';
import { defaultDataFolder, releaseKeyFolder } from '../data-folder.ts';

/** Where keys are looked for: --keys, PLATFORM_RELEASE_KEYS (several with `:` between), those of the platform started here. */
export function keyFolders(flags: { keys?: readonly string[] }, env = process.env): string[] {
  const named = flags.keys ?? env['PLATFORM_RELEASE_KEYS']?.split(path.delimiter) ?? [];
  return named.length > 0 ? named.map((folder) => path.resolve(folder)) : [releaseKeyFolder(defaultDataFolder())];
}

/** Opens all keys; asks for the passphrase at a terminal when one is locked and none was given. */
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

/** Without showing what is typed. */
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
