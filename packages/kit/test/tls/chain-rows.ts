// What is verified of certificates, as rows that run in both runtimes; see chain.test.ts.
import { issue, type Issue, type Issued } from '../../src/testing/index.ts';
import { readCertificate } from '../../src/node/tls/certificate.ts';
import { CertificateRefused, verifyChain } from '../../src/node/tls/chain.ts';

const day = 86_400_000;
/** Days from the floor. */
const floor = Date.UTC(2026, 10, 1);
const at = (days: number): number => floor + days * day;
const long = { from: at(-300), to: at(3000) };
const serverAuth = '1.3.6.1.5.5.7.3.1';
const clientAuth = '1.3.6.1.5.5.7.3.2';
const [digitalSignature, keyCertSign, crlSign] = [0, 5, 6];

export interface ChainRow {
  /** Changes of a good chain of three. */
  root?: Partial<Issue>;
  middle?: Partial<Issue>;
  leaf?: Partial<Issue>;
  /** Sent and trusted; left out: leaf and middle, and the root. */
  chain?: (made: { root: Issued; middle: Issued; leaf: Issued }) => { sent: Issued[]; trusted: Issued[] };
  host?: string;
  /** Day of the time that it is verified at, or the code of the refusal. */
  is: number | string;
}

const other = (of: Partial<Issue> = {}): Issued =>
  issue({ name: 'Root', ...long, authority: true, keyUsage: [keyCertSign, crlSign], ...of });

export const chainRows: Readonly<Record<string, ChainRow>> = {
  'good at the floor': { leaf: { from: at(-10), to: at(80) }, is: 0 },
  'issued after the floor': { leaf: { from: at(400), to: at(490) }, is: 400 },
  'issued after 2050': {
    root: { to: at(20_000) },
    middle: { to: at(20_000) },
    leaf: { from: at(9000), to: at(9090) },
    is: 9000,
  },
  'its authority was issued after the floor': { middle: { from: at(20) }, is: 20 },
  'ended before the floor': { leaf: { from: at(-100), to: at(-1) }, is: 'CERT_HAS_EXPIRED' },
  'ends at the floor': { leaf: { from: at(-100), to: at(0) }, is: 0 },
  'its authority ended before the floor': { middle: { to: at(-1) }, is: 'CERT_HAS_EXPIRED' },
  'the root ended before the floor': { root: { to: at(-1) }, is: 'CERT_HAS_EXPIRED' },
  'ended before its authority began': {
    middle: { from: at(200) },
    leaf: { from: at(0), to: at(90) },
    is: 'CERT_HAS_EXPIRED',
  },
  'ends before it begins': { leaf: { from: at(90), to: at(80) }, is: 'CERT_HAS_EXPIRED' },
  'another authority': {
    chain: ({ leaf, middle }) => ({ sent: [leaf, middle], trusted: [other({ name: 'Else' })] }),
    is: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  },
  'an authority of the same name and another key': {
    chain: ({ leaf, middle }) => ({ sent: [leaf, middle], trusted: [other()] }),
    is: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  },
  'the root comes along, and is not trusted': {
    chain: ({ leaf, middle, root }) => ({ sent: [leaf, middle, root], trusted: [] }),
    is: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  },
  'the root comes along, and is trusted': {
    chain: ({ leaf, middle, root }) => ({ sent: [leaf, middle, root], trusted: [root] }),
    is: 0,
  },
  'others come along, in another order': {
    chain: ({ leaf, middle, root }) => ({ sent: [leaf, other(), other({ name: 'Else' }), middle], trusted: [root] }),
    is: 0,
  },
  'an issuer is missing': {
    chain: ({ leaf, root }) => ({ sent: [leaf], trusted: [root] }),
    is: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  },
  'no certificate': { chain: ({ root }) => ({ sent: [], trusted: [root] }), is: 'UNABLE_TO_GET_ISSUER_CERT' },
  'more certificates than any server sends': {
    chain: ({ leaf, middle, root }) => ({ sent: [leaf, middle, ...Array<Issued>(9).fill(root)], trusted: [root] }),
    is: 'CERT_CHAIN_TOO_LONG',
  },
  'a signature by another key': { leaf: { isForged: true }, is: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' },
  'an intermediate signed by another key': { middle: { isForged: true }, is: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY' },
  'signed itself': {
    chain: ({ root }) => {
      const own = issue({ ...long, dns: ['cloud.test'] });
      return { sent: [own], trusted: [root] };
    },
    is: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  },
  'signed itself, and is trusted by itself': {
    chain: () => {
      const own = issue({ ...long, dns: ['cloud.test'] });
      return { sent: [own], trusted: [own] };
    },
    is: 0,
  },
  'trusted by itself, but ended': {
    chain: () => {
      const own = issue({ from: at(-90), to: at(-1), dns: ['cloud.test'] });
      return { sent: [own], trusted: [own] };
    },
    is: 'CERT_HAS_EXPIRED',
  },
  'an intermediate without the right to issue certificates': {
    middle: { authority: undefined, keyUsage: undefined },
    is: 'INVALID_CA',
  },
  'a server that issues for others': {
    chain: ({ leaf, middle, root }) => {
      const victim = issue({ ...long, name: 'victim', by: leaf, dns: ['cloud.test'] });
      return { sent: [victim, leaf, middle], trusted: [root] };
    },
    leaf: { keyUsage: undefined },
    is: 'INVALID_CA',
  },
  'an intermediate that must not sign': {
    middle: { keyUsage: [digitalSignature] },
    is: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  },
  'a path longer than the root allows': { root: { authority: 0 }, is: 'PATH_LENGTH_EXCEEDED' },
  'a path as long as the root allows': { root: { authority: 1 }, is: 0 },
  'for clients': { leaf: { extendedKeyUsage: [clientAuth] }, is: 'INVALID_PURPOSE' },
  'for clients and servers': { leaf: { extendedKeyUsage: [clientAuth, serverAuth] }, is: 0 },
  'for anything': { leaf: { extendedKeyUsage: ['2.5.29.37.0'] }, is: 0 },
  'for nothing that it names': { leaf: { extendedKeyUsage: undefined, keyUsage: undefined }, is: 0 },
  'by an authority for clients': { middle: { extendedKeyUsage: [clientAuth] }, is: 'INVALID_PURPOSE' },
  'a key for signing lists': { leaf: { keyUsage: [crlSign] }, is: 'INVALID_PURPOSE' },
  'an unknown critical extension': { leaf: { riddle: true }, is: 'UNHANDLED_CRITICAL_EXTENSION' },
  'an authority with an unknown critical extension': { middle: { riddle: true }, is: 'UNHANDLED_CRITICAL_EXTENSION' },
  'RSA of 2048 bits': { leaf: { key: 'rsa-2048' }, middle: { key: 'rsa-2048' }, is: 0 },
  'RSA of 1024 bits': { leaf: { key: 'rsa-1024' }, is: 'EE_KEY_TOO_SMALL' },
  'an authority with RSA of 1024 bits': { middle: { key: 'rsa-1024' }, is: 'EE_KEY_TOO_SMALL' },
  'an odd curve': { leaf: { key: 'secp256k1' }, is: 'EE_KEY_TOO_SMALL' },
  Ed25519: { leaf: { key: 'ed25519' }, is: 0 },
  'signed with SHA-1': { leaf: { hash: 'sha1' }, is: 'CA_MD_TOO_WEAK' },
  'an authority signed with SHA-1': { middle: { hash: 'sha1' }, is: 'CA_MD_TOO_WEAK' },
  'another name': { host: 'other.test', is: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  'a name below it': { host: 'a.cloud.test', is: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  'the common name alone': { host: 'leaf', is: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  'the common name, and no other': { leaf: { dns: [], ips: [] }, host: 'leaf', is: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  'capital letters': { host: 'CLOUD.test', is: 0 },
  'a wildcard': { leaf: { dns: ['*.cloud.test'] }, host: 'a.cloud.test', is: 0 },
  'a wildcard, two labels': {
    leaf: { dns: ['*.cloud.test'] },
    host: 'a.b.cloud.test',
    is: 'ERR_TLS_CERT_ALTNAME_INVALID',
  },
  'a wildcard, no label': { leaf: { dns: ['*.cloud.test'] }, host: 'cloud.test', is: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  'a part of a wildcard': {
    leaf: { dns: ['a*.cloud.test'] },
    host: 'ab.cloud.test',
    is: 'ERR_TLS_CERT_ALTNAME_INVALID',
  },
  'a name with a NUL': { leaf: { dns: ['cloud.test\0.evil.test'] }, is: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  'an IP address': { host: '10.0.0.7', is: 0 },
  'another IP address': { host: '10.0.0.8', is: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  'an IP address that stands as a name': {
    leaf: { dns: ['10.0.0.8'] },
    host: '10.0.0.8',
    is: 'ERR_TLS_CERT_ALTNAME_INVALID',
  },
  'a wildcard for IP addresses': { leaf: { dns: ['*.0.0.8'] }, host: '10.0.0.8', is: 'ERR_TLS_CERT_ALTNAME_INVALID' },
  'within the names of its authority': { middle: { permitted: ['test'] }, is: 0 },
  'outside of the names of its authority': { middle: { permitted: ['example'] }, is: 'PERMITTED_VIOLATION' },
  'outside of the names of the root': { root: { permitted: ['example'] }, is: 'PERMITTED_VIOLATION' },
  'one of its names is excluded': { root: { excluded: ['cloud.test'] }, is: 'PERMITTED_VIOLATION' },
  'a wildcard over an excluded name': {
    root: { excluded: ['a.cloud.test'] },
    leaf: { dns: ['*.cloud.test'] },
    host: 'a.cloud.test',
    is: 'PERMITTED_VIOLATION',
  },
  'a name that only ends like it': { root: { permitted: ['loud.test'] }, is: 'PERMITTED_VIOLATION' },
};

/** PEM. */
export interface MadeRow {
  sent: string[];
  trusted: string[];
  host: string;
}

export function madeRow({ root: r, middle: m, leaf: l, chain, host = 'cloud.test' }: ChainRow): MadeRow {
  const root = other(r);
  const middle = issue({ name: 'Middle', ...long, by: root, authority: 0, keyUsage: [keyCertSign], ...m });
  const leaf = issue({
    name: 'leaf',
    from: at(-10),
    to: at(80),
    by: middle,
    dns: ['cloud.test'],
    ips: ['10.0.0.7'],
    keyUsage: [digitalSignature],
    extendedKeyUsage: [serverAuth],
    ...l,
  });
  const { sent, trusted } = chain?.({ root, middle, leaf }) ?? { sent: [leaf, middle], trusted: [root] };
  const pem = (list: readonly Issued[]) => list.map(({ cert }) => cert);
  return { sent: pem(sent), trusted: pem(trusted), host };
}

/** What becomes of a row; its `is` when all is well. */
export function outcomeOf({ sent, trusted, host }: MadeRow): number | string {
  const read = (list: readonly string[]) => list.map((cert) => readCertificate(cert));
  try {
    const { time } = verifyChain({ sent: read(sent), authorities: read(trusted), host, floor });
    return (time - floor) / day;
  } catch (error) {
    return error instanceof CertificateRefused ? error.code : String(error);
  }
}
