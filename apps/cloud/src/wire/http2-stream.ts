import http2 from 'node:http2';
import type { Response } from './request.ts';

/** The stream of an HTTP/2 response; undefined over HTTP/1. */
export const http2Stream = (response: Response): http2.ServerHttp2Stream | undefined =>
  response instanceof http2.Http2ServerResponse ? response.stream : undefined;
