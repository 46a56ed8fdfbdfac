import type { TLSSocket } from 'node:tls';
import { createContextKey, type HandlerContext } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { clientAddress, type TrustedProxies } from './addresses.ts';
import type { Request } from './request.ts';

/** The host by which a request names this server, and whether its client uses TLS. */
export type CameBy = { host: string; isSecure: boolean };

/** The URLs of this server. They are known once its ports are open. */
export type Addresses = {
  /** URL that users and machines get, whichever URL they connected to. Undefined: the URL of their request. */
  publicUrl(): string | undefined;
  /** URL of the port for machines of this host. Undefined: they use the main port. */
  insideUrl(): string | undefined;
  /** Host and TLS of a request; behind trusted proxies, the values that the proxy reports. */
  cameBy(request: Request): CameBy;
  /** The IP address of the client of a request. */
  clientOf(request: Request): string;
};

export function addresses(
  known: Pick<Addresses, 'publicUrl' | 'insideUrl'>,
  isTrusted: TrustedProxies = () => false,
): Addresses {
  return {
    ...known,
    cameBy(request) {
      const direct = {
        host: hostOf(request) ?? '',
        isSecure: (request.socket as Partial<TLSSocket>).encrypted === true,
      };
      if (!isTrusted(request.socket.remoteAddress)) return direct;
      const host = lastOf(request.headers['x-forwarded-host']);
      const scheme = lastOf(request.headers['x-forwarded-proto'])?.toLowerCase();
      return {
        host: host !== undefined && isHost(host) ? host : direct.host,
        isSecure: scheme === undefined ? direct.isSecure : scheme === 'https',
      };
    },
    clientOf: (request) =>
      clientAddress(request.socket.remoteAddress ?? '', request.headers['x-forwarded-for']?.toString(), isTrusted),
  };
}

/** HTTP/2 has `:authority` in place of Host. */
export const hostOf = (request: Request): string | undefined =>
  (request as { authority?: string }).authority ?? request.headers.host;

/** A proxy appends its own value to the one that the client sent. */
const lastOf = (header: string | string[] | undefined): string | undefined => {
  const last = header?.toString().split(',').at(-1)?.trim();
  return last === '' ? undefined : last;
};

const isHost = (host: string): boolean => /^[\w.:[\]-]+$/.test(host) && URL.canParse(`http://${host}`);

/** Set for each RPC that arrives through the port. */
export const cameByKey = createContextKey<CameBy | undefined>(undefined, { description: 'how a call came' });

/** IP address of the caller; empty for an RPC that did not arrive through the port. */
export const clientAddressKey = createContextKey('', { description: 'the address of the client' });

/** URL of this server for a caller. @throws PlatformError INVALID_ARGUMENT: the request has no valid host */
export function baseUrl(known: Pick<Addresses, 'publicUrl' | 'insideUrl'>, { host, isSecure }: CameBy): string {
  const inside = known.insideUrl();
  if (inside !== undefined && !isSecure && `http://${host}` === inside) return inside;
  const publicUrl = known.publicUrl();
  if (publicUrl !== undefined) return publicUrl;
  const base = `${isSecure ? 'https' : 'http'}://${host}`;
  if (host === '' || !URL.canParse(base))
    throw new PlatformError('INVALID_ARGUMENT', { field: 'Host', value: host.slice(0, 100), limit: 'a host name' });
  return base;
}

export const baseUrlOf = (deps: { addresses: Addresses }, context: Pick<HandlerContext, 'url' | 'values'>): string =>
  baseUrl(deps.addresses, cameByOf(context));

export const cameByOf = ({ url, values }: Pick<HandlerContext, 'url' | 'values'>): CameBy =>
  values.get(cameByKey) ?? { host: URL.parse(url)?.host ?? '', isSecure: url.startsWith('https:') };

/** URL of this server for the client of a plain HTTP request. */
export const baseUrlFor = ({ addresses: known }: { addresses: Addresses }, request: Request): string =>
  baseUrl(known, known.cameBy(request));
