import type { Interceptor, Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';

/** The server that served this page; the browser sends the session cookie. */
export const serverTransport = (...interceptors: Interceptor[]): Transport =>
  createConnectTransport({ baseUrl: window.location.origin, useBinaryFormat: true, interceptors });
