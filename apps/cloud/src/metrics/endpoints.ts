// Where metrics are read: with a key on the main port, without one on a port of this host.
import { PlatformError } from '@platform/contract/errors/errors';
import { mayReadMetrics } from '../access/rules/permissions.ts';
import { type Route, send, sendText } from '../wire/exchange.ts';
import type { Listener, Request, Response } from '../wire/request.ts';
import { namesLoopback } from '../wire/this-host.ts';
import type { Metrics } from './metrics.ts';

export const metricsRoutes = ({ metrics }: { metrics: Metrics }): Route[] => [
  {
    methods: ['GET', 'HEAD'],
    path: /^\/metrics$/,
    async answer({ request, response, caller }) {
      takeBasic(request);
      // Without it, curl and Prometheus would not say what is missing.
      if (request.headers['key'] === undefined) response.setHeader('www-authenticate', 'Basic realm="metrics"');
      if (!mayReadMetrics(await caller())) throw new PlatformError('PERMISSION_DENIED', { resource: 'the metrics' });
      response.removeHeader('www-authenticate');
      await sendMetrics(metrics, request, response);
    },
  },
];

/**
 * Prometheus sends fixed credentials as Basic, while our tokens are exchanged for a key. Only this route takes it: a
 * browser that knows a user's password would send it with each request of any page.
 */
function takeBasic({ headers }: Request): void {
  const [, encoded] = /^Basic ([\w+/=-]+)$/i.exec(headers.authorization ?? '') ?? [];
  if (encoded === undefined) return;
  const text = Buffer.from(encoded, 'base64').toString();
  const at = text.indexOf(':');
  delete headers.authorization;
  headers['key_id'] = text.slice(0, Math.max(at, 0));
  headers['key'] = text.slice(at + 1);
}

/** For a port on loopback alone, because it asks for no key. */
export function metricsListener(metrics: Metrics): Listener {
  return async (request, response) => {
    if (!namesLoopback(request)) return sendText(response, 403, 'use the address 127.0.0.1\n');
    const path = (request.url ?? '').split('?', 1)[0];
    if (path !== '/metrics') return sendText(response, 404, 'only /metrics is here\n');
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return sendText(response, 405, 'use GET\n', { allow: 'GET, HEAD' });
    await sendMetrics(metrics, request, response);
  };
}

async function sendMetrics(metrics: Metrics, request: Request, response: Response): Promise<void> {
  const { text, contentType } = await metrics.read();
  const headers = {
    'content-type': contentType,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
  };
  send(response, 200, headers, request.method === 'HEAD' ? undefined : text);
}
