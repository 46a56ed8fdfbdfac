import { http2Stream } from '../wire/http2-stream.ts';
import type { Response } from '../wire/request.ts';

/** Status of an ended response: of HTTP, or `grpc-<n>`. `aborted`: the client left before its end. */
export function sentStatus(response: Response): string {
  if (!response.writableEnded && !response.headersSent) return 'aborted';
  const trailer = http2Stream(response)?.sentTrailers?.['grpc-status'] ?? response.getHeader('grpc-status');
  return trailer === undefined ? String(response.statusCode) : `grpc-${String(trailer)}`;
}
