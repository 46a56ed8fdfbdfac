import type { KeyObject } from 'node:crypto';
import { isIP } from 'node:net';
import type { Certificate, GeneralName } from './certificate.ts';

// Path validation of RFC 5280, chapter 6, for a TLS server, with the time as a parameter: neither Node nor Bun supports
// that. Used only while no time server synchronizes the clock of this machine. Where the runtime is stricter than the
// RFC, so is this code. Decision 0035.

/** `code` is the runtime's code for the same problem. */
export class CertificateRefused extends Error {
  readonly code: string;
  constructor(code: string, problem: string) {
    super(problem);
    this.name = 'CertificateRefused';
    this.code = code;
  }
}

export interface ChainToVerify {
  /** In the server's order, its own certificate first. */
  sent: readonly Certificate[];
  authorities: readonly Certificate[];
  /** Requested name or IP address. */
  host: string;
  /** ms since 1970, certainly in the past. */
  floor: number;
}

export interface VerifiedChain {
  /** Lower bound of the current time, ms since 1970. */
  time: number;
  /** The period in which all certificates of the path are valid. */
  from: number;
  until: number;
}

const mostCertificates = 10;
/** Limit of signature verifications per chain. */
const mostSignatures = 50;
const sha2 = /^(1\.2\.840\.113549\.1\.1\.(11|12|13)|1\.2\.840\.10045\.4\.3\.(2|3|4)|1\.3\.101\.112)$/;
const pss = '1.2.840.113549.1.1.10';
/** 2.16.840.1.101.3.4.2.1 to .3: SHA-256, SHA-384, SHA-512. */
const sha2Oid = Buffer.from('6086480165030402', 'hex');
const curves = new Set(['prime256v1', 'secp384r1', 'secp521r1']);
const leastRsaBits = 2048;
const serverAuthentication = '1.3.6.1.5.5.7.3.1';
const anyUsage = '2.5.29.37.0';
const bit = { digitalSignature: 0, keyEncipherment: 2, keyAgreement: 4, keyCertSign: 5 } as const;

/**
 * Finds a path to a CA on which everything is valid, possibly except for the clock of this machine.
 *
 * @throws CertificateRefused with the reason of the path that came furthest.
 */
export function verifyChain(of: ChainToVerify): VerifiedChain {
  const [server] = of.sent;
  if (!server) throw new CertificateRefused('UNABLE_TO_GET_ISSUER_CERT', 'the server sent no certificate');
  if (of.sent.length > mostCertificates) {
    throw new CertificateRefused('CERT_CHAIN_TOO_LONG', `the server sent ${of.sent.length} certificates`);
  }
  checkName(server, of.host);
  let problem: CertificateRefused | undefined;
  for (const path of pathsFrom(server, of)) {
    try {
      return checkPath(path, of);
    } catch (error) {
      if (!(error instanceof CertificateRefused)) throw error;
      problem ??= error;
    }
  }
  throw problem ?? new CertificateRefused('UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'no known authority issued it');
}

function checkName({ x509 }: Certificate, host: string): void {
  const isIt = isIP(host) ? x509.checkIP(host) : x509.checkHost(host, { subject: 'never', partialWildcards: false });
  if (isIt === undefined) {
    throw new CertificateRefused('ERR_TLS_CERT_ALTNAME_INVALID', `it is for ${x509.subjectAltName ?? 'no name'}`);
  }
}

/** Each path ends with a CA; every signature on it is verified. */
function* pathsFrom(server: Certificate, { sent, authorities }: ChainToVerify): Generator<Certificate[]> {
  let signaturesLeft = mostSignatures;
  const isSigned = (by: Certificate, one: Certificate): boolean => {
    if (!one.x509.checkIssued(by.x509)) return false;
    if (signaturesLeft-- <= 0) throw new CertificateRefused('CERT_CHAIN_TOO_LONG', 'its chain has too many branches');
    const key = keyOf(by);
    return key !== undefined && one.x509.verify(key);
  };
  const isSame = (a: Certificate, b: Certificate): boolean => a.x509.fingerprint256 === b.x509.fingerprint256;
  // A self-signed certificate that is itself trusted.
  if (authorities.some((one) => isSame(one, server)) && isSigned(server, server)) yield [server];
  function* onward(path: readonly Certificate[]): Generator<Certificate[]> {
    const last = path.at(-1)!;
    for (const one of authorities) if (!isSame(one, last) && isSigned(one, last)) yield [...path, one];
    if (path.length >= mostCertificates) return;
    for (const one of sent) {
      if (!path.some((before) => isSame(before, one)) && isSigned(one, last)) yield* onward([...path, one]);
    }
  }
  yield* onward([server]);
}

function checkPath(path: readonly Certificate[], { floor, host }: ChainToVerify): VerifiedChain {
  for (const [i, one] of path.entries()) {
    checkKey(one);
    if (i < path.length - 1 || i === 0) checkSignature(one);
    if (one.unknownCritical.length > 0) {
      throw refused('UNHANDLED_CRITICAL_EXTENSION', `an extension is not known: ${one.unknownCritical.join()}`, one);
    }
    const usage = one.extendedKeyUsage;
    if (usage && !usage.includes(serverAuthentication) && !usage.includes(anyUsage)) {
      throw refused('INVALID_PURPOSE', 'it is not meant for servers', one);
    }
    if (i > 0) checkAuthority(one, path.slice(1, i));
    if (!one.constraints) continue;
    for (const below of path.slice(0, i)) checkConstraints(one, below, below.names);
    // A wildcard may match an excluded name.
    checkConstraints(one, path[0]!, [{ type: isIP(host) ? ip : dns, bytes: hostBytes(host) }]);
  }
  checkServer(path[0]!);
  const from = Math.max(...path.map(({ notBefore }) => notBefore));
  const until = Math.min(...path.map(({ notAfter }) => notAfter));
  const time = Math.max(floor, from);
  if (!(time <= until)) {
    const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
    throw new CertificateRefused('CERT_HAS_EXPIRED', `it ended ${day(until)}, and it is ${day(time)} or later`);
  }
  return { time, from, until };
}

function checkServer(server: Certificate): void {
  const { keyUsage } = server;
  const fit = [bit.digitalSignature, bit.keyEncipherment, bit.keyAgreement];
  if (keyUsage && !fit.some((one) => keyUsage.has(one))) {
    throw refused('INVALID_PURPOSE', 'its key is not meant for TLS', server);
  }
}

/** @param between - the certificates between this one and the server's. */
function checkAuthority(one: Certificate, between: readonly Certificate[]): void {
  if (!one.isAuthority) throw refused('INVALID_CA', 'it is not a certificate authority', one);
  if (one.keyUsage && !one.keyUsage.has(bit.keyCertSign)) {
    throw refused('INVALID_CA', 'its key must not sign certificates', one);
  }
  const length = between.filter(({ isSelfIssued }) => !isSelfIssued).length;
  if (one.pathLength !== undefined && length > one.pathLength) {
    throw refused('PATH_LENGTH_EXCEEDED', `${length} authorities follow, ${one.pathLength} may`, one);
  }
}

function checkKey(one: Certificate): void {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = keyOf(one) ?? {};
  const isGood =
    type === 'rsa' || type === 'rsa-pss'
      ? (details?.modulusLength ?? 0) >= leastRsaBits
      : type === 'ec'
        ? curves.has(details?.namedCurve ?? '')
        : type === 'ed25519';
  if (!isGood) throw refused('EE_KEY_TOO_SMALL', `its key is too weak (${type})`, one);
}

/** Undefined for a key type that the runtime does not support. */
function keyOf({ x509 }: Certificate): KeyObject | undefined {
  try {
    return x509.publicKey;
  } catch {
    return undefined;
  }
}

function checkSignature(one: Certificate): void {
  const { oid, parameters } = one.signature;
  if (sha2.test(oid) || (oid === pss && Buffer.from(parameters).includes(sha2Oid))) return;
  throw refused('CA_MD_TOO_WEAK', `its signature is too weak (${oid})`, one);
}

/** Checks the names below a CA with name constraints. */
function checkConstraints(by: Certificate, below: Certificate, names: readonly GeneralName[]): void {
  const { permitted, excluded } = by.constraints!;
  const unknown = [...permitted, ...excluded].find(({ type }) => type !== dns && type !== ip);
  // A constraint on another type of name cannot be evaluated: refuse.
  if (unknown) throw refused('UNSUPPORTED_CONSTRAINT_TYPE', `a constraint of the kind ${unknown.type}`, by);
  for (const name of names) {
    const same = (list: readonly GeneralName[]): GeneralName[] => list.filter(({ type }) => type === name.type);
    const isOut =
      same(excluded).some((one) => isWithin(name, one)) ||
      (same(permitted).length > 0 && !same(permitted).some((one) => isWithin(name, one)));
    if (isOut) throw refused('PERMITTED_VIOLATION', 'its authority must not speak for this name', below);
  }
}

const dns = 2;
const ip = 7;

function hostBytes(host: string): Uint8Array {
  if (isIP(host) !== 6) return isIP(host) ? Buffer.from(host.split('.').map(Number)) : Buffer.from(host);
  const [head = '', tail] = host.split('::');
  const words = (text: string): number[] =>
    text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
  const [front, back] = [words(head), words(tail ?? '')];
  const all = [...front, ...Array<number>(Math.max(0, 8 - front.length - back.length)).fill(0), ...back];
  return Buffer.from(all.flatMap((word) => [word >> 8, word & 0xff]));
}

function isWithin(name: GeneralName, place: GeneralName): boolean {
  if (name.type === ip) {
    const half = place.bytes.length / 2;
    if (name.bytes.length !== half) return false;
    return name.bytes.every(
      (byte, i) => (byte & place.bytes[half + i]!) === (place.bytes[i]! & place.bytes[half + i]!),
    );
  }
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1').toLowerCase();
  const [own, tree] = [text(name.bytes), text(place.bytes)];
  if (tree === '' || own === tree) return true;
  return own.endsWith(tree.startsWith('.') ? tree : `.${tree}`);
}

const refused = (code: string, problem: string, one: Certificate): CertificateRefused =>
  new CertificateRefused(code, `${one.x509.subject.replaceAll('\n', ', ') || 'a certificate'}: ${problem}`);
