import { createSecureContext } from 'node:tls';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import { readPem } from '@platform/kit/node';
import { authorities, type Authority, authorityOf, ownAuthority } from './authority.ts';
import { type Certificate, readCertificate } from './certificate.ts';
import { parsePublicUrl, urlOfCertificate } from './rules/public-url.ts';

/** Options of the server; paths of PEM files. */
export type TlsOptions = Readonly<
  Record<'tlsCert' | 'tlsKey' | 'tlsAuthority' | 'tlsKnownAuthority' | 'publicUrl', string | undefined>
>;

export type TlsPair = { cert: string; key: string; certificate: Certificate };

/** The certificate and its key. @throws PlatformError INVALID_ARGUMENT */
export async function readTls({
  tlsCert,
  tlsKey,
}: Pick<TlsOptions, 'tlsCert' | 'tlsKey'>): Promise<TlsPair | undefined> {
  if (tlsCert === undefined && tlsKey === undefined) return undefined;
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: tlsCert === undefined ? '--tls-cert' : '--tls-key',
      limit: 'certificate and key belong together',
    });
  }
  const cert = await read('--tls-cert', tlsCert, (text) => text);
  const certificate = await read('--tls-cert', tlsCert, readCertificate);
  const key = await read('--tls-key', tlsKey, (text) => text);
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new PlatformError(
      'INVALID_ARGUMENT',
      {
        field: '--tls-key',
        value: tlsKey,
        limit: `the private key of ${tlsCert}, without a password (${errorText(error)})`,
      },
      error,
    );
  }
  return { cert, key, certificate };
}

/**
 * The authority that machines need for this server in addition to those of their system. @throws PlatformError
 * INVALID_ARGUMENT
 */
export async function readAuthority(
  { tlsAuthority, tlsKnownAuthority }: Pick<TlsOptions, 'tlsAuthority' | 'tlsKnownAuthority'>,
  tls: TlsPair | undefined,
): Promise<Authority> {
  if (tlsAuthority !== undefined) return read('--tls-authority', tlsAuthority, ownAuthority);
  const known =
    tlsKnownAuthority === undefined ? [] : await read('--tls-known-authority', tlsKnownAuthority, authorities);
  return tls ? authorityOf(tls.cert, known) : { is: 'public' };
}

async function read<T>(field: string, file: string, parse: (text: string) => T): Promise<T> {
  try {
    return parse(await readPem(file));
  } catch (error) {
    throw new PlatformError(
      'INVALID_ARGUMENT',
      { field, value: file, limit: `a PEM file that can be read (${errorText(error)})` },
      error,
    );
  }
}

/**
 * The public URL by the number of the main port: the configured one; else the certificate's; else undefined.
 *
 * @throws PlatformError INVALID_ARGUMENT at once if the configured URL is invalid, or if the certificate names no
 * usable host.
 */
export function publicUrls(
  { publicUrl }: Pick<TlsOptions, 'publicUrl'>,
  tls: TlsPair | undefined,
): (port: number) => string | undefined {
  const configured = publicUrl === undefined ? undefined : parsePublicUrl(publicUrl);
  if (configured !== undefined || !tls) return () => configured;
  urlOfCertificate(tls.certificate, 443);
  return (port) => urlOfCertificate(tls.certificate, port);
}
