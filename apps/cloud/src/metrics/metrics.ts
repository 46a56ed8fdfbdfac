// Metrics of this server in OpenMetrics, for Prometheus and others.
import { collectDefaultMetrics, Counter, Histogram, type OpenMetricsContentType, Registry } from 'prom-client';
import type { LogWriter } from '../logs/log-writer.ts';
import { addGauges, type Observed } from './observed.ts';
import type { Response } from '../wire/request.ts';
import { http2Stream } from '../wire/http2-stream.ts';

export type Metrics = {
  /** Counts and times a request until its response ends. @param method - path of the call; undefined: another request. */
  observe(response: Response, method: string | undefined): void;
  /** Counts a call that was refused before it was handled: its address made too many without credentials. */
  refusedCall(): void;
  logs(writer: LogWriter): LogWriter;
  /** Adds what is measured when the metrics are read. */
  measure(of: Observed): void;
  read(): Promise<{ text: string; contentType: string }>;
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
    help: 'Log lines of machines: stored, failed because the database did not take them, or refused as too many.',
    labelNames: ['result'],
    registers,
  });
  const refusedCalls = new Counter({
    name: 'platform_refused_calls',
    help: 'Calls that were refused because their address or key made too many that authenticated no caller.',
    registers,
  });
  for (const result of ['stored', 'failed', 'refused']) lines.inc({ result }, 0);
  return {
    observe(response, method = 'other') {
      const began = now();
      response.once('close', () => calls.observe({ method, status: sentStatus(response) }, (now() - began) / 1_000));
    },
    refusedCall: () => refusedCalls.inc(),
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
      refused(count) {
        lines.inc({ result: 'refused' }, count);
        writer.refused(count);
      },
    }),
    measure: (of) => addGauges(registry, of),
    read: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  };
}

/** Status of an ended response: of HTTP, or `grpc-<n>`. `aborted`: the client left before its end. */
function sentStatus(response: Response): string {
  if (!response.writableEnded && !response.headersSent) return 'aborted';
  const trailer = http2Stream(response)?.sentTrailers?.['grpc-status'] ?? response.getHeader('grpc-status');
  return trailer === undefined ? String(response.statusCode) : `grpc-${String(trailer)}`;
}
