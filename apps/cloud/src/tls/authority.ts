import { createHash, X509Certificate } from 'node:crypto';
import { rootCertificates } from 'node:tls';
import { readChain } from './certificate.ts';

/** The authority of the server's certificate, and whether machines can be given it. */
export type Authority =
  | { is: 'public' }
  | { is: 'own'; pem: string; sha256: string }
  /** Issued by an authority whose certificate is unknown here. */
  | { is: 'unknown'; issuer: string };

/**
 * @param cert - PEM of the server's certificate and of intermediate authorities.
 * @param known - PEM of authorities that all clients trust in addition to the public ones.
 */
export function authorityOf(cert: string, known: readonly string[] = []): Authority {
  const chain = readChain(cert);
  const top = topOf(chain);
  // The server's own self-signed certificate is never a known authority. Browsers do not trust it, and HSTS would lock
  // them out.
  const others = known.filter((pem) => pem !== chain[0]?.toString());
  if (!top || isKnown(top, [...rootCertificates, ...others])) return { is: 'public' };
  return isSelfIssued(top)
    ? ownAuthority(top.toString())
    : { is: 'unknown', issuer: top.issuer.replaceAll('\n', ', ') };
}

/** @param text - PEM. @throws Error if it contains no certificate */
export function ownAuthority(text: string): Authority & { is: 'own' } {
  const pem = authorities(text).join('');
  return { is: 'own', pem, sha256: createHash('sha256').update(pem).digest('hex') };
}

/** @param text - PEM. @returns each certificate in it, as PEM. @throws Error if there is none */
export function authorities(text: string): string[] {
  const certificates = readChain(text);
  if (certificates.length === 0) throw new Error('there is no certificate in it');
  return certificates.map(String);
}

const isSelfIssued = (one: X509Certificate): boolean => one.checkIssued(one) && one.verify(one.publicKey);

/** The end of the chain from the server's own certificate. */
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

/** Whether one of these authorities is the top of the chain, or has issued it. */
const isKnown = (top: X509Certificate, roots: readonly string[]): boolean =>
  roots.some((pem) => {
    const root = new X509Certificate(pem);
    return root.fingerprint256 === top.fingerprint256 || (top.checkIssued(root) && top.verify(root.publicKey));
  });

/** The authority's certificate for machines; undefined: they need none, or it is unknown. */
export const authorityPem = (authority: Authority): string | undefined =>
  authority.is === 'own' ? authority.pem : undefined;

export const authoritySha256 = (authority: Authority): string | undefined =>
  authority.is === 'own' ? authority.sha256 : undefined;
