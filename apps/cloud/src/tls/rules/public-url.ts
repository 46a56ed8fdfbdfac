import { PlatformError } from '@platform/contract/errors/errors';
import { invalidArgument } from '../../rpc/rules/invalid-argument.ts';

/** Names that a certificate covers. IPv6 addresses are in their shortest form. */
export type CertificateNames = { dnsNames: readonly string[]; ipAddresses: readonly string[] };

const example = 'scheme and host, for example https://platform.example.com or https://platform.example.com:8443';

/**
 * Validates the public URL. @returns it without a trailing slash.
 *
 * @throws PlatformError INVALID_ARGUMENT
 */
export function parsePublicUrl(text: string): string {
  const refuse = (problem: string): never => {
    // A password in the URL must not reach a log.
    const value = text.replace(/\/\/[^/]*@/, '//***@').slice(0, 200);
    throw new PlatformError('INVALID_ARGUMENT', { field: '--public-url', value, limit: `${problem}: ${example}` });
  };
  const url = URL.parse(text);
  if (!url) return refuse('it is not a URL');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuse('it begins with https:// or http://');
  if (url.username !== '' || url.password !== '') return refuse('it has no user name and no password');
  if (url.search !== '' || text.includes('?')) return refuse('it has no query');
  if (url.hash !== '' || text.includes('#')) return refuse('it has no fragment');
  if (url.pathname !== '/') return refuse('it has no path, because the web app and all calls stand at the root');
  if (isWildcardHost(url.hostname)) return refuse('a wildcard address cannot be reached');
  if (url.hostname.includes('*')) return refuse('it has no wildcard');
  return url.origin;
}

const isWildcardHost = (hostname: string): boolean => hostname === '0.0.0.0' || hostname === '[::]';

/**
 * The URL that a certificate covers: its first DNS name without a wildcard; without DNS names, its first IP address.
 *
 * @throws PlatformError INVALID_ARGUMENT: the certificate names no host that a URL can have.
 */
export function urlOfCertificate({ dnsNames, ipAddresses }: CertificateNames, port: number): string {
  const name = dnsNames.find((one) => !one.includes('*'));
  const [address] = dnsNames.length === 0 ? ipAddresses : [];
  const host = name ?? (address?.includes(':') ? `[${address}]` : address);
  if (host === undefined || !URL.canParse(`https://${host}`)) {
    const names = dnsNames.length > 0 ? `only the wildcard ${dnsNames.join(', ')}` : 'no DNS name and no IP address';
    throw invalidArgument(
      '--public-url',
      '',
      `needed here, because the certificate names ${names}. Give the URL that users and machines use, for example ${exampleOf(dnsNames)}`,
    );
  }
  return new URL(`https://${host}:${port}`).origin;
}

const exampleOf = ([first]: readonly string[]): string =>
  `https://${(first ?? '*.example.com').replace('*', 'platform')}`;

/** Whether a certificate covers a host of a URL, by the rules of clients. */
export function coversHost({ dnsNames, ipAddresses }: CertificateNames, hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (ipAddresses.includes(host)) return true;
  return dnsNames.some((name) => {
    const known = name.toLowerCase();
    if (!known.startsWith('*.')) return known === host;
    const dot = host.indexOf('.');
    return dot > 0 && host.slice(dot) === known.slice(1);
  });
}
