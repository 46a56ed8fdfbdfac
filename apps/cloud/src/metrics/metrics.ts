// Metrics of this server in OpenMetrics, for Prometheus and others. They exist only with --metrics-port.
import { collectDefaultMetrics, Counter, Histogram, Registry, type OpenMetricsContentType } from 'prom-client';
import type { LogWriter } from '../logs/log-writer.ts';
import { isLoopback } from '../wire/mux.ts';
import { send, sendText } from '../wire/exchange.ts';
import { hostOf } from '../wire/base-url.ts';
import type { Listener, Response } from '../wire/request.ts';
import { addGauges, type Observed } from './observed.ts';
import { sentStatus } from './sent-status.ts';

export type Metrics = {
  /** Counts and times a request until its response ends. @param method - path of the call; undefined: another request. */
  observe(response: Response, method: string | undefined): void;
  logs(writer: LogWriter): LogWriter;
  /** Serves /metrics. For a port on loopback alone, because it asks for no key. */
  listener(of: Observed): Listener;
};

/** In seconds: from answers out of memory to long polls. */
const callBuckets = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60];

export function createMetrics(now: () => number): Metrics {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const registers = [registry];
  collectDefaultMetrics({ register: registry as unknown as Registry });
  const calls = new Histogram({
    name: 'platform_request_duration_seconds',
    help: 'Time from a request to the end of its response; a long poll lasts until it is answered.',
    labelNames: ['method', 'status'],
    buckets: callBuckets,
    registers,
  });
  const lines = new Counter({
    name: 'platform_log_lines',
    help: 'Log lines of machines: stored, or failed because the database did not take them.',
    labelNames: ['result'],
    registers,
  });
  return {
    observe(response, method = 'other') {
      const began = now();
      response.once('close', () => calls.observe({ method, status: sentStatus(response) }, (now() - began) / 1_000));
    },
    logs: (writer) => ({
      async write(partId, rows) {
        const count = (result: string): void => lines.inc({ result }, rows.length);
        await writer.write(partId, rows).then(
          () => count('stored'),
          (error: unknown) => {
            count('failed');
            throw error;
          },
        );
      },
    }),
    listener(of) {
      addGauges(registry, of);
      return async (request, response) => {
        // A web page whose name leads to this address must not read them in the browser of a user of this host.
        const host = hostOf(request)
          ?.replace(/:\d+$/, '')
          .replace(/^\[(.*)\]$/, '$1');
        if (!isLoopback(host)) return sendText(response, 403, 'use the address 127.0.0.1\n');
        const path = (request.url ?? '').split('?', 1)[0];
        if (path !== '/metrics') return sendText(response, 404, 'only /metrics is here\n');
        if (request.method !== 'GET' && request.method !== 'HEAD')
          return sendText(response, 405, 'use GET\n', { allow: 'GET, HEAD' });
        const text = await registry.metrics();
        const headers = { 'content-type': registry.contentType, 'content-length': Buffer.byteLength(text) };
        send(response, 200, headers, request.method === 'HEAD' ? undefined : text);
      };
    },
  };
}
