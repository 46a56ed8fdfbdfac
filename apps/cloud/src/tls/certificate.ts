import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { CertificateNames } from './rules/public-url.ts';

export type Certificate = CertificateNames & {
  /** ms since 1970. */
  validFrom: number;
  validUntil: number;
};

const block = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of a PEM text, the server's own first. @throws Error if one cannot be read */
export const readChain = (pem: string): X509Certificate[] =>
  (pem.match(block) ?? []).map((text) => new X509Certificate(text));

/** Reads the first certificate of a PEM text. @throws Error if there is none */
export function readCertificate(pem: string): Certificate {
  const [own] = readChain(pem);
  if (!own) throw new Error('there is no certificate in it');
  const { dnsNames, ipAddresses } = namesOf(own.subjectAltName ?? '');
  return { dnsNames, ipAddresses, validFrom: own.validFromDate.getTime(), validUntil: own.validToDate.getTime() };
}

/**
 * Parses text such as `DNS:one.example, IP Address:127.0.0.1`. Quoted names contain characters that no host name has.
 */
function namesOf(text: string): CertificateNames {
  const entries = text.split(', ').map((entry) => entry.trim());
  const after = (prefix: string): string[] =>
    entries.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length));
  return {
    dnsNames: after('DNS:').filter((name) => !name.startsWith('"')),
    ipAddresses: after('IP Address:')
      .map(shortest)
      .filter((address) => isIP(address) !== 0),
  };
}

const shortest = (address: string): string =>
  address.includes(':') ? (URL.parse(`http://[${address}]`)?.hostname.slice(1, -1) ?? address) : address;
