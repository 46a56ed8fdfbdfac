import { isIP } from 'node:net';
import { type Clock, errorText, type Log } from '@platform/kit';
import { authorities, type Authority, authorityOf, ownAuthority } from './authority.ts';
import { coversHost, parsePublicUrl, urlOfCertificate } from './rules/public-url.ts';
import { createSecureContext } from 'node:tls';
import { PlatformError } from '@platform/contract/errors/errors';
import { readPem } from '@platform/kit/node';
import { type Certificate, readCertificate } from './certificate.ts';

/** The server's identity for its clients: its certificate, the certificate's authority, and the public URL. */
export type Identity = {
  pair: TlsPair | undefined;
  authority: Authority;
  /** @param port - the number of the main port. */
  publicUrl(port: number): string | undefined;
};

/** @throws PlatformError INVALID_ARGUMENT */
export async function readIdentity(options: TlsOptions): Promise<Identity> {
  const pair = await readTls(options);
  return { pair, authority: await readAuthority(options, pair), publicUrl: publicUrls(options, pair) };
}

export const certificateLookMs = 60_000;

export type IdentityInUse = {
  now(): Identity;
  /** Why the current files are not in use; undefined: they are. */
  problem(): string | undefined;
  /**
   * Checks the files each minute and uses a new valid pair. If the new pair is invalid, the previous one stays in use.
   */
  follow(renew: (pair: TlsPair) => void, stop: AbortSignal): Promise<void>;
};

export function identityInUse(
  options: TlsOptions,
  first: Identity,
  { clock, log }: { clock: Clock; log: Log },
): IdentityInUse {
  const state: { identity: Identity; problem: string | undefined } = { identity: first, problem: undefined };
  const look = async (renew: (pair: TlsPair) => void): Promise<void> => {
    try {
      const found = await readIdentity(options);
      const { pair } = state.identity;
      if (found.pair && (found.pair.cert !== pair?.cert || found.pair.key !== pair.key)) {
        renew(found.pair);
        log.info('a renewed certificate is in use', { until: new Date(found.pair.certificate.validUntil) });
      }
      Object.assign(state, { identity: found, problem: undefined });
    } catch (error) {
      const problem = errorText(error);
      if (state.problem !== problem)
        log.error('the renewed certificate cannot be used; the one before stays in use', { problem });
      state.problem = problem;
    }
  };
  return {
    now: () => state.identity,
    problem: () => state.problem,
    async follow(renew, stop) {
      if (!first.pair) return;
      while (!stop.aborted) {
        await clock.sleep(certificateLookMs, stop);
        if (!stop.aborted) await look(renew);
      }
    },
  };
}

export interface CertificateProblem {
  /** A sentence. */
  text: string;
  /** No client that verifies the certificate can connect. */
  isFatal: boolean;
}

/** Problems of the certificate for clients of the public URL. `now` in ms since 1970. */
export function certificateProblems(
  { pair, authority }: Identity,
  publicUrl: string | undefined,
  now: number,
): CertificateProblem[] {
  if (!pair) return [];
  const { certificate } = pair;
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
  const host = publicUrl?.startsWith('https:') ? new URL(publicUrl).hostname : undefined;
  const found: (CertificateProblem | false)[] = [
    now > certificate.validUntil && {
      text: `The certificate expired on ${day(certificate.validUntil)} UTC.`,
      isFatal: true,
    },
    now < certificate.validFrom && {
      text: `The certificate is not valid before ${day(certificate.validFrom)} UTC.`,
      isFatal: true,
    },
    // Not fatal: a proxy may present another certificate, and the machines' administrators may have installed the
    // authority.
    host !== undefined &&
      !coversHost(certificate, host) && {
        text: `The certificate does not vouch for ${host}, the host of the public URL.`,
        isFatal: false,
      },
    authority.is === 'unknown' && {
      text: `No public authority issued the certificate, and machines cannot be given its authority (${authority.issuer}). Name it with --tls-authority, or with --tls-known-authority if all machines and browsers trust it.`,
      isFatal: false,
    },
  ];
  return found.filter((one) => one !== false);
}

/** Whether to send HSTS: not where users may have to accept a certificate warning, which HSTS would forbid. */
export const isStrictTransport = ({ pair, authority }: Identity, publicUrl: string | undefined): boolean => {
  if (!pair || authority.is !== 'public' || publicUrl?.startsWith('https:') !== true) return false;
  const { hostname } = new URL(publicUrl);
  return (
    isIP(hostname.replace(/^\[|\]$/g, '')) === 0 && hostname !== 'localhost' && coversHost(pair.certificate, hostname)
  );
};

/** Options of the server; paths of PEM files. */
type TlsOptions = Readonly<
  Record<'tlsCert' | 'tlsKey' | 'tlsAuthority' | 'tlsKnownAuthority' | 'publicUrl', string | undefined>
>;

type TlsPair = { cert: string; key: string; certificate: Certificate };

/** The certificate and its key. @throws PlatformError INVALID_ARGUMENT */
async function readTls({ tlsCert, tlsKey }: Pick<TlsOptions, 'tlsCert' | 'tlsKey'>): Promise<TlsPair | undefined> {
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
async function readAuthority(
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
function publicUrls(
  { publicUrl }: Pick<TlsOptions, 'publicUrl'>,
  tls: TlsPair | undefined,
): (port: number) => string | undefined {
  const configured = publicUrl === undefined ? undefined : parsePublicUrl(publicUrl);
  if (configured !== undefined || !tls) return () => configured;
  urlOfCertificate(tls.certificate, 443);
  return (port) => urlOfCertificate(tls.certificate, port);
}
