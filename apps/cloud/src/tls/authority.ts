import { createHash, X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { readChain } from './certificate.ts';

/** The authority of a certificate that no public one vouches for, and whether machines can be given it. */
export type Authority =
  | { is: 'public' }
  | { is: 'own'; pem: string; sha256: string }
  /** Issued by an authority whose certificate is not known here. */
  | { is: 'unknown'; issuer: string };

/**
 * @param cert - PEM of the server's certificate and those of authorities between.
 * @param known - PEM of authorities that all clients trust beside the public ones.
 */
export function authorityOf(cert: string, known: readonly string[] = []): Authority {
  const chain = readChain(cert);
  const top = topOf(chain);
  // A certificate that signed itself is no authority of a company: browsers would be left without a way in.
  const others = known.filter((pem) => pem !== chain[0]?.toString());
  if (!top || isKnown(top, [...rootCertificates, ...others])) return { is: 'public' };
  return isSelfIssued(top)
    ? ownAuthority(top.toString())
    : { is: 'unknown', issuer: top.issuer.replaceAll('\n', ', ') };
}

/** @param text - PEM. @throws Error when there is no certificate in it */
export function ownAuthority(text: string): Authority & { is: 'own' } {
  const pem = authorities(text).join('');
  return { is: 'own', pem, sha256: createHash('sha256').update(pem).digest('hex') };
}

/** @param text - PEM. @returns each certificate in it, as PEM. @throws Error when there is none */
export function authorities(text: string): string[] {
  const certificates = readChain(text);
  if (certificates.length === 0) throw new Error('there is no certificate in it');
  return certificates.map(String);
}

const isSelfIssued = (one: X509Certificate): boolean => one.checkIssued(one) && one.verify(one.publicKey);

/** Where the chain from the server's own certificate ends. */
function topOf(chain: readonly X509Certificate[]): X509Certificate | undefined {
  let [top] = chain;
  for (const _ of chain) {
    const below = top;
    const issuer = chain.find((one) => one !== below && below?.checkIssued(one) && below.verify(one.publicKey));
    if (!issuer || (below && isSelfIssued(below))) break;
    top = issuer;
  }
  return top;
}

/** Whether one of these authorities is at the top, or has issued what is there. */
const isKnown = (top: X509Certificate, roots: readonly string[]): boolean =>
  roots.some((pem) => {
    const root = new X509Certificate(pem);
    return root.fingerprint256 === top.fingerprint256 || (top.checkIssued(root) && top.verify(root.publicKey));
  });

/** What machines are given; undefined: nothing. */
export const authorityPem = (authority: Authority): string | undefined =>
  authority.is === 'own' ? authority.pem : undefined;

export const authoritySha256 = (authority: Authority): string | undefined =>
  authority.is === 'own' ? authority.sha256 : undefined;
