import { createPrivateKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';

// Creates X.509 certificates for tests, including invalid ones: for stories with dates, and for the table of refused
// chains.

export interface Issue {
  /** Common name. */
  name?: string;
  /** ms since 1970. */
  from: number;
  to: number;
  /** Default: self-signed. */
  by?: Issued;
  dns?: readonly string[];
  /** IPv4. */
  ips?: readonly string[];
  /** Default: not a CA. A number is its path length. */
  authority?: true | number | undefined;
  /** Bits of the key usage; default: unrestricted. */
  keyUsage?: readonly number[] | undefined;
  extendedKeyUsage?: readonly string[] | undefined;
  permitted?: readonly string[];
  excluded?: readonly string[];
  /** Adds an unknown critical extension. */
  riddle?: boolean;
  key?: 'P-256' | 'secp256k1' | 'rsa-2048' | 'rsa-1024' | 'ed25519';
  hash?: 'sha256' | 'sha1';
  /** Signs with an unrelated key. */
  isForged?: boolean;
}

/** PEM. */
export interface Issued {
  cert: string;
  key: string;
  name: string;
}

const der = (tag: number, ...content: Uint8Array[]): Buffer => {
  const body = Buffer.concat(content);
  const size = body.length;
  const length = size > 0xff ? [0x82, size >> 8, size & 0xff] : size > 0x7f ? [0x81, size] : [size];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
};
const sequence = (...content: Uint8Array[]): Buffer => der(0x30, ...content);
const base128 = (n: number): number[] => {
  const bytes = [n & 0x7f];
  for (let rest = n >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
};
const oid = (text: string): Buffer => {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
};
const number = (n: number): Buffer => der(0x02, Buffer.from([n]));
const yes = der(0x01, Buffer.from([0xff]));
const time = (ms: number): Buffer => {
  const text = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  // A two-digit year (UTCTime) stands for 1950 to 2049.
  return text >= '2050' ? der(0x18, Buffer.from(text)) : der(0x17, Buffer.from(text.slice(2)));
};
const nameOf = (text: string): Buffer => sequence(der(0x31, sequence(oid('2.5.4.3'), der(0x0c, Buffer.from(text)))));
const extension = (id: string, value: Uint8Array, isCritical = false): Buffer =>
  sequence(oid(id), ...(isCritical ? [yes] : []), der(0x04, value));

const algorithms = {
  rsa: { sha256: ['1.2.840.113549.1.1.11', der(0x05)], sha1: ['1.2.840.113549.1.1.5', der(0x05)] },
  ec: { sha256: ['1.2.840.10045.4.3.2'], sha1: ['1.2.840.10045.4.1'] },
  ed25519: { sha256: ['1.3.101.112'], sha1: ['1.3.101.112'] },
} as const;

function keyPair(kind: NonNullable<Issue['key']>): { privateKey: KeyObject; publicKey: KeyObject } {
  if (kind === 'ed25519') return generateKeyPairSync('ed25519');
  if (kind === 'rsa-2048') return generateKeyPairSync('rsa', { modulusLength: 2048 });
  if (kind === 'rsa-1024') return generateKeyPairSync('rsa', { modulusLength: 1024 });
  return generateKeyPairSync('ec', { namedCurve: kind });
}

function extensionsOf(of: Issue): Buffer[] {
  const names = [
    ...(of.dns ?? []).map((name) => der(0x82, Buffer.from(name))),
    ...(of.ips ?? []).map((ip) => der(0x87, Buffer.from(ip.split('.').map(Number)))),
  ];
  const trees = (tag: number, list: readonly string[] = []): Buffer[] =>
    list.length === 0 ? [] : [der(tag, ...list.map((name) => sequence(der(0x82, Buffer.from(name)))))];
  const constraints = [...trees(0xa0, of.permitted), ...trees(0xa1, of.excluded)];
  const length = typeof of.authority === 'number' ? [number(of.authority)] : [];
  const bits = (of.keyUsage ?? []).reduce((sum, one) => sum | (0x80 >> one), 0);
  const list: [boolean, () => Buffer][] = [
    [true, () => extension('2.5.29.19', of.authority === undefined ? sequence() : sequence(yes, ...length), true)],
    [of.keyUsage !== undefined, () => extension('2.5.29.15', der(0x03, Buffer.from([0, bits])), true)],
    [of.extendedKeyUsage !== undefined, () => extension('2.5.29.37', sequence(...of.extendedKeyUsage!.map(oid)))],
    [names.length > 0, () => extension('2.5.29.17', sequence(...names))],
    [constraints.length > 0, () => extension('2.5.29.30', sequence(...constraints), true)],
    [of.riddle === true, () => extension('1.3.6.1.4.1.99999.1', der(0x05), true)],
  ];
  return list.filter(([isThere]) => isThere).map(([, made]) => made());
}

export function issue(of: Issue): Issued {
  const { name = 'localhost', key: kind = 'P-256', hash = 'sha256', by } = of;
  const { privateKey, publicKey } = keyPair(kind);
  const signer = of.isForged ? keyPair('P-256').privateKey : by ? createPrivateKey(by.key) : privateKey;
  const family = signer.asymmetricKeyType as keyof typeof algorithms;
  const [id, ...parameters] = algorithms[family][hash];
  const algorithm = sequence(oid(id), ...parameters);
  const body = sequence(
    der(0xa0, number(2)),
    number(1 + (Buffer.from(publicKey.export({ type: 'spki', format: 'der' })).at(-1)! & 0x3f)),
    algorithm,
    nameOf(by?.name ?? name),
    sequence(time(of.from), time(of.to)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensionsOf(of))),
  );
  const signature = sign(family === 'ed25519' ? null : hash, body, signer);
  const whole = sequence(body, algorithm, der(0x03, Buffer.from([0]), signature));
  const pem = whole
    .toString('base64')
    .match(/.{1,64}/g)!
    .join('\n');
  return {
    name,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    cert: `-----BEGIN CERTIFICATE-----\n${pem}\n-----END CERTIFICATE-----\n`,
  };
}
