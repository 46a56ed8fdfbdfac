import type { TLSSocket } from 'node:tls';
import type { HandlerContext } from '@connectrpc/connect';
import type { Request } from '../wire/mux.ts';
import type { Deps } from './routes.ts';

/** The URL's part that a request names us by, and whether it came over TLS. */
export type CameBy = { host: string; isSecure: boolean };

/** How a plain HTTP request came. HTTP/2 has `:authority` in place of Host. */
export const cameBy = (request: Request): CameBy => ({
  host: hostOf(request) ?? '',
  isSecure: (request.socket as Partial<TLSSocket>).encrypted === true,
});

export const hostOf = (request: Request): string | undefined =>
  (request as { authority?: string }).authority ?? request.headers.host;

/** How an RPC came: its URL is made of `:authority` or Host. */
const calledBy = ({ url }: Pick<HandlerContext, 'url'>): CameBy => ({
  host: URL.parse(url)?.host ?? '',
  isSecure: url.startsWith('https:'),
});

type Addresses = Pick<Deps, 'publicUrl' | 'listensAt'>;

/** URL of this server for whoever came: the one configured, else the one that they came by (scheme, host and port). */
export function baseUrl({ publicUrl, listensAt }: Addresses, { host, isSecure }: CameBy): string {
  if (publicUrl !== undefined) return publicUrl;
  const base = `${isSecure ? 'https' : 'http'}://${host}`;
  return host !== '' && URL.canParse(base) ? base : listensAt();
}

export const baseUrlOf = (addresses: Addresses, context: Pick<HandlerContext, 'url'>): string =>
  baseUrl(addresses, calledBy(context));
