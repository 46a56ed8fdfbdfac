import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { isCertificateError } from './certificate-error.ts';

/** An authority that vouches for one server, beside the authorities of the system. */
export interface TrustedAuthority {
  /** Scheme, host and port of the server. */
  origin: string;
  /** PEM. */
  pem: string;
}

type Input = Parameters<typeof fetch>[0];
type Init = Parameters<typeof fetch>[1];

const originOf = (input: Input): string => new URL(input instanceof Request ? input.url : String(input)).origin;

/** The authorities beside the runtime's own for this server. */
export const authoritiesFor = (trusted: TrustedAuthority | undefined, origin: string): string[] =>
  trusted?.origin === origin ? [trusted.pem] : [];

/**
 * A fetch that also trusts one authority, for one server. A server that moves to a certificate of a public authority is reached,
 * too. Bun takes an authority with each call. Node takes none with a call: there the whole process trusts it.
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
      // Nothing was sent to a server whose certificate was refused.
      if (!isCertificateError(error)) throw error;
      const answer = await call(input, init, !isByAuthority).catch(() => Promise.reject(error as Error));
      last.isByAuthority = !isByAuthority;
      return answer;
    }
  };
}
