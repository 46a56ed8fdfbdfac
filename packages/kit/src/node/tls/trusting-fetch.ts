import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { isCertificateError } from './certificate-error.ts';

/** A CA that is trusted for one server, in addition to the system's CAs. */
export interface TrustedAuthority {
  /** Scheme, host and port of the server. */
  origin: string;
  /** PEM. */
  pem: string;
}

type Input = Parameters<typeof fetch>[0];
type Init = Parameters<typeof fetch>[1];

const originOf = (input: Input): string => new URL(input instanceof Request ? input.url : String(input)).origin;

/** The CAs for this server in addition to the runtime's. */
export const authoritiesFor = (trusted: TrustedAuthority | undefined, origin: string): string[] =>
  trusted?.origin === origin ? [trusted.pem] : [];

/**
 * A fetch that also trusts one CA, for one server. It still reaches the server after a change to a certificate of a
 * public CA. Bun accepts a CA per call. Node does not: there the whole process trusts it.
 */
export function trustingFetch(trusted: TrustedAuthority, send: typeof fetch = fetch): typeof fetch {
  if (process.versions['bun'] === undefined) {
    setDefaultCACertificates([...getCACertificates('default'), trusted.pem]);
    return send;
  }
  const tls = { ca: [trusted.pem] };
  const last = { isByAuthority: true };
  const call = (input: Input, init: Init, isByAuthority: boolean): Promise<Response> =>
    send(input instanceof Request ? input.clone() : input, isByAuthority ? ({ ...init, tls } as RequestInit) : init);
  return async (input, init) => {
    if (originOf(input) !== trusted.origin) return send(input, init);
    const { isByAuthority } = last;
    try {
      return await call(input, init, isByAuthority);
    } catch (error) {
      // Safe to retry: nothing was sent to a server whose certificate was refused.
      if (!isCertificateError(error)) throw error;
      const answer = await call(input, init, !isByAuthority).catch(() => Promise.reject(error as Error));
      last.isByAuthority = !isByAuthority;
      return answer;
    }
  };
}
