// The signature of an archive of the server: Ed25519 over the file with its sha256, in the format of sha256sum. Both are
// checked with openssl and sha256sum where nothing of ours is installed yet.
import { createPublicKey, verify } from 'node:crypto';
import { PlatformError } from '@platform/contract/errors/errors';
import { readKey, readPublicKey } from './keys.ts';

export const sumsOf = (archive: string): string => `${archive}.sha256`;
export const signatureOf = (archive: string): string => `${archive}.sha256.sig`;

/** A public key that is not Ed25519 is refused. @throws PlatformError SIGNING_KEY_UNREADABLE */
export function readArchiveKey(pem: string, name: string): string {
  const { publicKey, publicPem } = readPublicKey(pem, name);
  if (publicKey.keytype === 'ed25519') return publicPem;
  throw new PlatformError('SIGNING_KEY_UNREADABLE', { name, problem: 'archives are signed with Ed25519' });
}

/** @returns the signature; `publicPem`: for those who check it. @throws PlatformError SIGNING_KEY_UNREADABLE */
export function signSums(
  sums: string,
  { pem, name, passphrase }: { pem: string; name: string; passphrase: string | undefined },
): { signature: Uint8Array; publicPem: string } {
  const key = readKey(pem, name, passphrase);
  const publicPem = readArchiveKey(key.publicPem, name);
  return { signature: key.sign(Buffer.from(sums)), publicPem };
}

export const isSignedBy = (sums: Uint8Array, signature: Uint8Array, publicPem: string): boolean =>
  verify(null, sums, createPublicKey(publicPem), signature);
