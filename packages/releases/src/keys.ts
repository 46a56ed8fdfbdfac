import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto';
import { PlatformError } from '@platform/contract/errors/errors';

/** A public key in the format of the root document. */
export interface PublicKey {
  readonly keytype: 'ed25519' | 'ecdsa';
  readonly scheme: 'ed25519' | 'ecdsa-sha2-nistp256';
  /** ed25519: 64 hex digits; ecdsa: PEM. */
  readonly keyval: { readonly public: string };
}

/** A key that can sign. Only the root document determines what it may sign. */
export interface SigningKey {
  /** sha256 of the public key's canonical JSON, 64 hex digits. */
  readonly id: string;
  readonly publicKey: PublicKey;
  /** SPKI, PEM. */
  readonly publicPem: string;
  /** ed25519: 64 bytes; P-256: DER over sha256, as `openssl dgst -sha256 -verify` expects it. */
  sign(bytes: Uint8Array): Uint8Array;
}

export type KeyKind = 'ed25519' | 'p256';

/** Creates a private key as PKCS#8 PEM; with a passphrase encrypted with AES-256. */
export function makeKey(kind: KeyKind, passphrase?: string): string {
  const privateKeyEncoding = {
    type: 'pkcs8',
    format: 'pem',
    ...(passphrase !== undefined && { cipher: 'aes-256-cbc', passphrase }),
  } as const;
  const publicKeyEncoding = { type: 'spki', format: 'pem' } as const;
  return kind === 'ed25519'
    ? generateKeyPairSync('ed25519', { privateKeyEncoding, publicKeyEncoding }).privateKey
    : generateKeyPairSync('ec', { namedCurve: 'P-256', privateKeyEncoding, publicKeyEncoding }).privateKey;
}

/**
 * @param name - name of the source file, for messages.
 * @throws PlatformError SIGNING_KEY_UNREADABLE
 */
export function readKey(pem: string, name: string, passphrase?: string): SigningKey {
  const secret = open(pem, name, passphrase);
  const publicKey = publicKeyOf(createPublicKey(secret), name);
  const isEd25519 = publicKey.keytype === 'ed25519';
  return {
    id: keyId(publicKey),
    publicKey,
    publicPem: spki(createPublicKey(secret)),
    sign: (bytes) => signBytes(isEd25519 ? null : 'sha256', bytes, secret),
  };
}

/**
 * Reads the public key from a public or a private key.
 *
 * @throws PlatformError SIGNING_KEY_UNREADABLE
 */
export function readPublicKey(
  pem: string,
  name: string,
  passphrase?: string,
): Pick<SigningKey, 'id' | 'publicKey' | 'publicPem'> {
  if (!pem.includes('BEGIN PUBLIC KEY')) return readKey(pem, name, passphrase);
  const key = publicHalf(pem, name);
  const publicKey = publicKeyOf(key, name);
  return { id: keyId(publicKey), publicKey, publicPem: spki(key) };
}

function publicHalf(pem: string, name: string): KeyObject {
  try {
    return createPublicKey(pem);
  } catch (error) {
    throw new PlatformError('SIGNING_KEY_UNREADABLE', { name, problem: 'it is not a public key in PEM form' }, error);
  }
}

function open(pem: string, name: string, passphrase: string | undefined): KeyObject {
  try {
    return createPrivateKey({ key: pem, format: 'pem', ...(passphrase !== undefined && { passphrase }) });
  } catch (error) {
    const isLocked = /BEGIN ENCRYPTED PRIVATE KEY/.test(pem);
    const problem = isLocked
      ? passphrase === undefined
        ? 'it is locked with a passphrase'
        : 'the passphrase does not open it'
      : 'it is not a PKCS#8 private key in PEM form';
    throw new PlatformError('SIGNING_KEY_UNREADABLE', { name, problem }, error);
  }
}

const spki = (key: KeyObject): string => key.export({ type: 'spki', format: 'pem' }).toString();

function publicKeyOf(key: KeyObject, name: string): PublicKey {
  if (key.asymmetricKeyType === 'ed25519') {
    // The key is the last 32 bytes of its SPKI encoding.
    const hex = key.export({ type: 'spki', format: 'der' }).subarray(-32).toString('hex');
    return { keytype: 'ed25519', scheme: 'ed25519', keyval: { public: hex } };
  }
  if (key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1') {
    return { keytype: 'ecdsa', scheme: 'ecdsa-sha2-nistp256', keyval: { public: spki(key) } };
  }
  throw new PlatformError('SIGNING_KEY_UNREADABLE', {
    name,
    problem: `it is a key of the kind ${key.asymmetricKeyType ?? 'unknown'}, not ed25519 or P-256`,
  });
}

/** Key ID of the TUF specification: sha256 of the canonical JSON, which has sorted names and no spaces. */
export const keyId = ({ keytype, scheme, keyval }: PublicKey): string =>
  createHash('sha256')
    .update(`{"keytype":"${keytype}","keyval":{"public":"${keyval.public}"},"scheme":"${scheme}"}`)
    .digest('hex');
