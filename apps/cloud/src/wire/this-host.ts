import { hostOf } from './base-url.ts';
import { isLoopback } from './mux.ts';
import type { Request } from './request.ts';

/** What proxies add. Behind a proxy on this host, every client would look like this host. */
const ofProxies = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];

/** Host of the request without port and brackets. */
const nameOf = (request: Request): string | undefined =>
  hostOf(request)
    ?.replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1');

/** Whether the request names loopback. A web page whose name leads there must not read it in a browser of this host. */
export const namesLoopback = (request: Request): boolean => isLoopback(nameOf(request));

/** Whether a program of this host sent the request, without a proxy in between. */
export const isFromThisHost = (request: Request): boolean =>
  isLoopback(request.socket.remoteAddress) &&
  namesLoopback(request) &&
  ofProxies.every((name) => request.headers[name] === undefined);
