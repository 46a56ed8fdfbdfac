// The keys of an installation in one file: apart from the rest, because the rest holds no key that anybody could use.
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite } from '@platform/kit/node';

/** `path`: relative to the server's data folder, with slashes. */
export type KeyEntry = { path: string; mode: number; base64: string };
type Plain = { format: 1; installationId: string; files: KeyEntry[] };
type Sealed = { format: 1; scrypt: { salt: string; cost: number }; nonce: string; tag: string; sealed: string };

/** Files of the data folder that no database holds and no start makes again. */
const ownFiles = ['secrets.json', 'release-key.pem', 'inside-port.json'];
/** The keys that sign releases, where `npm start` keeps them: beside the server's data folder. */
const besideFolder = '../release-keys';
const cost = 2 ** 15;

/** @returns the keys, and the folders of keys that this user may not read. */
export async function collectKeys(dataFolder: string): Promise<{ files: KeyEntry[]; unread: string[] }> {
  const folder = path.join(dataFolder, besideFolder);
  const unread: string[] = [];
  const beside = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') unread.push(folder);
    return [];
  });
  const names = [...ownFiles, ...beside.toSorted().map((name) => `${besideFolder}/${name}`)];
  const files: KeyEntry[] = [];
  for (const name of names) {
    const file = path.join(dataFolder, name);
    const found = await stat(file).catch(() => undefined);
    if (!found?.isFile()) continue;
    files.push({ path: name, mode: found.mode & 0o777, base64: (await readFile(file)).toString('base64') });
  }
  return { files, unread };
}

/** @returns the content of the key file. */
export function encodeKeys(installationId: string, files: KeyEntry[], passphrase: string | undefined): string {
  const plain = JSON.stringify({ format: 1, installationId, files } satisfies Plain);
  if (passphrase === undefined) return `${plain}\n`;
  const [salt, nonce] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv('aes-256-gcm', derive(passphrase, salt, cost), nonce);
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
  return `${JSON.stringify({
    format: 1,
    scrypt: { salt: salt.toString('base64'), cost },
    nonce: nonce.toString('base64'),
    tag: cipher.getAuthTag().toString('base64'),
    sealed: sealed.toString('base64'),
  } satisfies Sealed)}\n`;
}

const derive = (passphrase: string, salt: Buffer, N: number): Buffer =>
  scryptSync(passphrase.normalize('NFC'), salt, 32, { N, r: 8, p: 1, maxmem: 256 * N * 8 });

/**
 * @returns the keys; `isSealed`: only who has the passphrase can have written them.
 * @throws PlatformError BACKUP_PASSPHRASE_WRONG, BACKUP_DAMAGED
 */
export function decodeKeys(
  file: string,
  text: string,
  passphrase: string | undefined,
): { keys: KeyEntry[]; isSealed: boolean } {
  let found: Plain | Sealed;
  try {
    found = JSON.parse(text) as Plain | Sealed;
  } catch (error) {
    throw new PlatformError('BACKUP_DAMAGED', { file, problem: 'it is not JSON' }, error);
  }
  if ('files' in found) return { keys: found.files, isSealed: false };
  if (passphrase === undefined)
    throw new PlatformError('BACKUP_PASSPHRASE_WRONG', { file, problem: 'none was given, and they are encrypted' });
  const bytes = (base64: string): Buffer => Buffer.from(base64, 'base64');
  try {
    const key = derive(passphrase, bytes(found.scrypt.salt), found.scrypt.cost);
    const cipher = createDecipheriv('aes-256-gcm', key, bytes(found.nonce)).setAuthTag(bytes(found.tag));
    const plain = Buffer.concat([cipher.update(bytes(found.sealed)), cipher.final()]);
    return { keys: (JSON.parse(plain.toString('utf8')) as Plain).files, isSealed: true };
  } catch (error) {
    throw new PlatformError('BACKUP_PASSPHRASE_WRONG', { file }, error);
  }
}

/** Whether the keys of `npm start` are among them, so that the server's data folder is `cloud` in the given one. */
export const isBesideReleaseKeys = (files: readonly KeyEntry[]): boolean =>
  files.some((one) => one.path.startsWith(`${besideFolder}/`));

/** Release keys lie beside the data folder. @throws PlatformError RESTORE_TARGET_IN_USE if there are others. */
export async function refuseOtherKeys(dataFolder: string, files: readonly KeyEntry[]): Promise<void> {
  for (const { path: name, base64 } of files.filter((one) => one.path.startsWith(`${besideFolder}/`))) {
    const file = path.join(dataFolder, name);
    const found = await readFile(file).catch(() => undefined);
    if (found && found.toString('base64') !== base64)
      throw new PlatformError('RESTORE_TARGET_IN_USE', { path: path.dirname(file), found: path.basename(file) });
  }
}

export async function writeKeys(dataFolder: string, files: readonly KeyEntry[]): Promise<void> {
  for (const { path: name, mode, base64 } of files) {
    // A file from elsewhere must not lead out of the two folders.
    if (!/^(\.\.\/release-keys\/)?[\w-][\w.-]*$/.test(name))
      throw new PlatformError('BACKUP_DAMAGED', {
        file: keyName(name),
        problem: 'the key file names a file elsewhere',
      });
    const file = path.join(dataFolder, name);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    await atomicWrite(file, Buffer.from(base64, 'base64'), { mode });
  }
  if (isBesideReleaseKeys(files)) await chmod(path.join(dataFolder, besideFolder), 0o700);
}

const keyName = (name: string): string => JSON.stringify(name);
