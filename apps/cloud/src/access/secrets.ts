import { createCipheriv, createDecipheriv, createHash, randomBytes, randomUUID } from 'node:crypto';
import path from 'node:path';
import { atomicWrite, readJson } from '@platform/kit/node';

/**
 * Secrets of this installation; <data>/secrets.json, mode 0600. The file is written before any row of the database
 * refers to it. So a first start that was killed half-way creates the same organization and keys again.
 */
export type Secrets = {
  installationId: string;
  /** Signs access tokens. It must survive restarts, because clients keep their token permanently. */
  signingKey: Buffer;
  /** Encrypts part secrets at rest. */
  sealingKey: Buffer;
  first: FirstRun;
};

/** IDs and keys that the first start creates. */
export type FirstRun = {
  orgId: string;
  locationId: string;
  ownerId: string;
  apiKeyId: string;
  apiKey: string;
  runnerKeyId: string;
  runnerKey: string;
};

type SecretsFile = {
  installation_id: string;
  signing_key: string;
  sealing_key: string;
  first: Record<
    'org_id' | 'location_id' | 'owner_id' | 'api_key_id' | 'api_key' | 'runner_key_id' | 'runner_key',
    string
  >;
};

/** @param newKeys - replaces the secrets of the first API key and the runner's key; their IDs stay. */
export async function openSecrets(dataFolder: string, { newKeys = false } = {}): Promise<Secrets> {
  const file = path.join(dataFolder, 'secrets.json');
  const found = (await readJson(file)) as SecretsFile | undefined;
  const content = found ?? make();
  if (newKeys) Object.assign(content.first, { api_key: randomSecret(), runner_key: randomSecret() });
  if (!found || newKeys) await atomicWrite(file, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  const { first } = content;
  return {
    installationId: content.installation_id,
    signingKey: Buffer.from(content.signing_key, 'base64url'),
    sealingKey: Buffer.from(content.sealing_key, 'base64url'),
    first: {
      orgId: first.org_id,
      locationId: first.location_id,
      ownerId: first.owner_id,
      apiKeyId: first.api_key_id,
      apiKey: first.api_key,
      runnerKeyId: first.runner_key_id,
      runnerKey: first.runner_key,
    },
  };
}

const make = (): SecretsFile => ({
  installation_id: randomUUID(),
  signing_key: randomSecret(),
  sealing_key: randomSecret(),
  first: {
    org_id: randomUUID(),
    location_id: newLocationId(),
    owner_id: randomUUID(),
    api_key_id: randomUUID(),
    api_key: randomSecret(),
    runner_key_id: randomUUID(),
    runner_key: randomSecret(),
  },
});

/** 256 random bits as text; that much entropy needs no slow hash. */
export const randomSecret = (): string => randomBytes(32).toString('base64url');

/** Whether a text has the form of a secret: any other text needs no look into the database. */
export const isSecret = (text: string): boolean => /^[\w-]{43}$/.test(text);

const letters = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Ten lower-case letters and digits: the format that clients know from machine host names. */
export const newLocationId = (): string =>
  Array.from(randomBytes(10), (byte) => letters[byte % letters.length]).join('');

export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();

const nonceBytes = 12;
const tagBytes = 16;

/** Encrypts with AES-256-GCM, with the owner as associated data. @returns nonce, tag, cipher text. */
export function seal(key: Buffer, belongsTo: string, text: string): Buffer {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(belongsTo));
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]);
}

export function unseal(key: Buffer, belongsTo: string, sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes))
    .setAAD(Buffer.from(belongsTo))
    .setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  return Buffer.concat([decipher.update(sealed.subarray(nonceBytes + tagBytes)), decipher.final()]).toString('utf8');
}
