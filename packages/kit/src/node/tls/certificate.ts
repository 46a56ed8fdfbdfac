import { X509Certificate } from 'node:crypto';
import { oidText, readDer, readOne, smallNumber, type Der } from './der.ts';

/** GeneralName of RFC 5280 4.2.1.6: its type (2: DNS, 7: IP address) and its bytes. */
export interface GeneralName {
  type: number;
  bytes: Uint8Array;
}

/** Fields of a certificate that node:crypto does not provide. */
export interface Certificate {
  x509: X509Certificate;
  /** ms since 1970. */
  notBefore: number;
  notAfter: number;
  /** Object identifier and all its parameters. */
  signature: { oid: string; parameters: Uint8Array };
  isAuthority: boolean;
  /** Maximum number of CAs below; undefined: unlimited. */
  pathLength: number | undefined;
  /** Bits of RFC 5280 4.2.1.3, counted from 0; undefined: unrestricted. */
  keyUsage: ReadonlySet<number> | undefined;
  /** Object identifiers; undefined: unrestricted. */
  extendedKeyUsage: readonly string[] | undefined;
  names: readonly GeneralName[];
  constraints: { permitted: readonly GeneralName[]; excluded: readonly GeneralName[] } | undefined;
  /** Critical extensions that this code does not know. */
  unknownCritical: readonly string[];
  isSelfIssued: boolean;
}

const sequence = 0x30;
const extension = {
  keyUsage: '2.5.29.15',
  names: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  nameConstraints: '2.5.29.30',
  policies: '2.5.29.32',
  extendedKeyUsage: '2.5.29.37',
} as const;
const known = new Set<string>(Object.values(extension));

/** @throws Error when it is not a certificate, or contains a field twice. */
export function readCertificate(source: X509Certificate | string | Uint8Array): Certificate {
  const x509 = source instanceof X509Certificate ? source : new X509Certificate(source);
  const [body, algorithm] = readDer(readOne(x509.raw, sequence));
  const fields = readDer(body?.tag === sequence ? body.body : new Uint8Array());
  const [oid, ...parameters] = readDer(algorithm?.body ?? new Uint8Array());
  const extensions = extensionsOf(fields);
  const value = (name: keyof typeof extension): Uint8Array | undefined => extensions.get(extension[name])?.value;
  const basic = readBasicConstraints(value('basicConstraints'));
  const usages = value('extendedKeyUsage');
  const names = value('names');
  const bits = value('keyUsage');
  const constraints = value('nameConstraints');
  return {
    x509,
    notBefore: Date.parse(x509.validFrom),
    notAfter: Date.parse(x509.validTo),
    signature: { oid: oidText(oid?.body ?? new Uint8Array()), parameters: parameters[0]?.body ?? new Uint8Array() },
    ...basic,
    keyUsage: bits && readBits(readOne(bits, 0x03)),
    extendedKeyUsage: usages && readDer(readOne(usages, sequence)).map((one) => oidText(one.body)),
    names: names ? readDer(readOne(names, sequence)).map(nameOf) : [],
    constraints: constraints && readNameConstraints(constraints),
    unknownCritical: [...extensions].filter(([id, { isCritical }]) => isCritical && !known.has(id)).map(([id]) => id),
    isSelfIssued: x509.subject === x509.issuer,
  };
}

function extensionsOf(fields: readonly Der[]): Map<string, { isCritical: boolean; value: Uint8Array }> {
  const list = fields.find(({ tag }) => tag === 0xa3);
  const found = new Map<string, { isCritical: boolean; value: Uint8Array }>();
  for (const one of list ? readDer(readOne(list.body, sequence)) : []) {
    const parts = readDer(one.body);
    const [id, value] = [oidText(parts[0]?.body ?? new Uint8Array()), parts.at(-1)?.body];
    if (!value || found.has(id)) throw new Error(`the extension ${id} is empty, or there twice`);
    found.set(id, { isCritical: parts.length === 3 && parts[1]!.body[0] !== 0, value });
  }
  return found;
}

function readBasicConstraints(value: Uint8Array | undefined): Pick<Certificate, 'isAuthority' | 'pathLength'> {
  const parts = value ? readDer(readOne(value, sequence)) : [];
  const isAuthority = parts[0]?.tag === 0x01 && parts[0].body[0] !== 0;
  const length = parts.find(({ tag }) => tag === 0x02);
  return { isAuthority, pathLength: length && smallNumber(length.body) };
}

function readBits(body: Uint8Array): Set<number> {
  const bits = new Set<number>();
  for (let i = 0; i < (body.length - 1) * 8; i++) {
    if ((body[1 + (i >> 3)]! & (0x80 >> (i & 7))) !== 0) bits.add(i);
  }
  return bits;
}

const nameOf = ({ tag, body }: Der): GeneralName => ({ type: tag & 0x1f, bytes: body });

function readNameConstraints(value: Uint8Array): NonNullable<Certificate['constraints']> {
  const parts = readDer(readOne(value, sequence));
  // RFC 5280 does not use minimum and maximum
  const subtrees = (tag: number): GeneralName[] => {
    const list = parts.find((part) => part.tag === tag);
    return list ? readDer(list.body).map((one) => nameOf(readDer(one.body)[0] ?? { tag: 0, body: one.body })) : [];
  };
  return { permitted: subtrees(0xa0), excluded: subtrees(0xa1) };
}
