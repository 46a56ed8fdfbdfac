import { mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '@platform/kit';
import { atomicWrite } from '@platform/kit/node';

/**
 * Writes the certificate authority of the credentials to a file that any machine server can read.
 *
 * @param root - the agent's root folder.
 * @returns the path of the file; undefined: the credentials name no authority, or the write failed.
 */
export async function keepAuthority(
  root: string,
  authority: string | undefined,
  log: Log,
): Promise<string | undefined> {
  const file = path.join(root, 'etc', 'authority.pem');
  try {
    return await keep(file, authority);
  } catch (error) {
    // A full disk must not prevent a start. The agent itself reads the authority from its credentials.
    log.warn('the authority of the management server cannot be written for the machine server', { file, error });
    return undefined;
  }
}

async function keep(file: string, authority: string | undefined): Promise<string | undefined> {
  if (authority === undefined) {
    await rm(file, { force: true });
    return undefined;
  }
  if ((await readFile(file, 'utf8').catch(() => undefined)) === authority) return file;
  await mkdir(path.dirname(file), { recursive: true, mode: 0o755 });
  await atomicWrite(file, authority, { mode: 0o644 });
  return file;
}
