import { httpFieldOf } from '@platform/kit';
export interface Head {
  method: 'GET' | 'HEAD' | 'POST';
  /** Path without its query. */
  path: string;
  /** Lower-case, with the port; empty: none. */
  host: string;
  /** Lower-case names. */
  headers: ReadonlyMap<string, string>;
  bodyBytes: number;
}

export const headBytes = 8 * 1024;
const bodyBytes = 64 * 1024;

const requestLine = /^([A-Z]{1,20}) (\S{1,4096}) HTTP\/1\.[01]$/;
const methods: readonly string[] = ['GET', 'HEAD', 'POST'];
/** A repeated one means different things to different programs. */
const single = new Set(['host', 'content-length', 'origin', 'content-type']);

/** Parses the lines before the body. A number: the status with which the request is refused. */
export function parseHead(text: string): Head | number {
  const [first = '', ...lines] = text.split('\r\n');
  const [, method = '', target = ''] = requestLine.exec(first) ?? [];
  if (method === '') return 400;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const { name, value } = httpFieldOf(line) ?? { name: '', value: '' };
    if (name === '') return 400;
    const key = name.toLowerCase();
    if (headers.has(key) && single.has(key)) return 400;
    headers.set(key, value);
  }
  if (!methods.includes(method)) return 405;
  if (headers.has('transfer-encoding')) return 411;
  const length = headers.get('content-length') ?? '0';
  if (!/^\d{1,15}$/.test(length)) return 400;
  if (Number(length) > bodyBytes) return 413;
  const [, authority, path = '/'] = /^(?:http:\/\/([^/?#]*))?(\/[^?#]*)?/i.exec(target) ?? [];
  const host = (authority ?? headers.get('host') ?? '').toLowerCase();
  return { method: method as Head['method'], path, host, headers, bodyBytes: Number(length) };
}
