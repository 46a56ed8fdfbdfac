import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { atomicWrite } from '@platform/kit/node';
import { makeKey, readKey, type SigningKey } from '@platform/releases/keys';

/**
 * The key that signs snapshot and timestamp: <data>/release-key.pem, mode 0600, created at the first start. An attacker
 * who holds it can delay updates of machines for some days, but cannot sign a file.
 */
export async function openOnlineKey(dataFolder: string): Promise<SigningKey> {
  const file = path.join(dataFolder, 'release-key.pem');
  const found = await readFile(file, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  });
  const pem = found ?? makeKey('ed25519');
  if (found === undefined) await atomicWrite(file, pem, { mode: 0o600 });
  return readKey(pem, file);
}
