// Which archives of the server root may run: those that the pinned key signed, or one that a user names.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { readPem } from '@platform/kit/node';
import { isSignedBy, readArchiveKey, signatureOf, sumsOf } from '@platform/releases/archive-signature';

/** What `--trust` says: a public key, or that the archive needs no signature. */
export type Trust = { readonly pem: string } | 'unsigned' | undefined;

/** @param given - a file with a public key (PEM), or the word `unsigned`. @throws PlatformError SIGNING_KEY_UNREADABLE */
export async function readTrust(given: string | undefined): Promise<Trust> {
  if (given === undefined || given === 'unsigned') return given;
  const pem = await readPem(given).catch((error: unknown) => {
    throw new PlatformError('SIGNING_KEY_UNREADABLE', { name: given, problem: 'it cannot be read' }, error);
  });
  return { pem: readArchiveKey(pem, path.basename(given)) };
}

const untrusted = (file: string, problem: string, cause?: unknown): PlatformError =>
  new PlatformError('ARCHIVE_UNTRUSTED', { file, problem }, cause);

/** The sha256 of a public key, as a user computes it: `openssl pkey -pubin -in KEY -outform DER | sha256sum`. */
const fingerprint = (pem: string): string =>
  createHash('sha256')
    .update(Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ''), 'base64'))
    .digest('hex');

/**
 * Checks the signature and the hash of an archive before it is unpacked.
 *
 * @param of - copy: the bytes to check, where no other user can change them; default: the archive itself.
 * @returns the key that signed it; undefined: the user accepts an unsigned archive.
 * @throws PlatformError ARCHIVE_UNTRUSTED, ARCHIVE_UNUSABLE
 */
export async function proveArchive(
  file: string,
  { pinned, trust, copy = file }: { pinned: string | undefined; trust: Trust; copy?: string },
): Promise<string | undefined> {
  if (trust === 'unsigned') return undefined;
  const read = (name: string): Promise<Buffer> =>
    readFile(name).catch((error: unknown) => {
      throw untrusted(file, `it is not signed: ${path.basename(name)} is not beside it`, error);
    });
  const [sums, signature] = [await read(sumsOf(file)), await read(signatureOf(file))];
  const key = trust?.pem ?? pinned;
  if (key === undefined) throw untrusted(file, 'no key is pinned on this host that could prove its signature');
  if (!isSignedBy(sums, signature, key))
    throw untrusted(file, `its signature is not of the ${trust ? 'given' : 'pinned'} key (sha256 ${fingerprint(key)})`);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(copy)) hash.update(chunk as Buffer);
  const [found, signed] = [hash.digest('hex'), sums.toString().slice(0, 64)];
  if (found !== signed)
    throw new PlatformError('ARCHIVE_UNUSABLE', {
      file,
      problem: `its sha256 is ${found}, and that of ${signed} was signed`,
    });
  return key;
}

/**
 * The key to pin for an archive that was unpacked by hand.
 *
 * @param of - signer: the key that the archive names as its own. trust: what the user says.
 * @returns undefined: none.
 * @throws PlatformError ARCHIVE_UNTRUSTED if it is not the pinned key.
 */
export function keyToPin(
  folder: string,
  { signer, pinned, trust }: { signer: string | undefined; pinned: string | undefined; trust: Trust },
): string | undefined {
  if (trust === 'unsigned' && signer === undefined) return undefined;
  const key = typeof trust === 'object' ? trust.pem : pinned;
  if (key === undefined || key === signer) return signer;
  if (typeof trust === 'object' && signer === undefined) return key;
  throw untrusted(
    folder,
    signer === undefined
      ? 'it is not signed, and the installed one is'
      : `it names the key ${fingerprint(signer)}, not ${fingerprint(key)}`,
  );
}
