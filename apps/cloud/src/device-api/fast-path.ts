import type { Addresses } from '../wire/base-url.ts';
import { type CheckRequest, longestCheck, type Reply, checkPaths } from '../wire/check.ts';
import type { Request, Response } from '../wire/request.ts';

/**
 * Takes config checks that arrive as HTTP requests. Requests in another protocol, with a report, or with anything
 * unusual go to the RPC unchanged.
 *
 * @returns undefined: the request is untouched.
 */
export const fastPath =
  (
    take: (request: CheckRequest, reply: Reply) => boolean,
    prove: (request: Request, callerId: string) => void,
    { cameBy, clientOf }: Pick<Addresses, 'cameBy' | 'clientOf'>,
  ) =>
  (request: Request, response: Response, otherwise: () => void | Promise<void>): Promise<void> | undefined => {
    const { headers, url: path = '' } = request;
    if (!checkPaths.includes(path) || request.method !== 'POST' || headers['content-type'] !== 'application/proto')
      return undefined;
    const length = Number(headers['content-length'] ?? 0);
    const { authorization } = headers;
    const by = { ...cameBy(request), address: clientOf(request) };
    if (!(length > 0 && length <= longestCheck) || headers['content-encoding'] !== undefined || !authorization)
      return undefined;
    return new Promise<void>((resolve) => request.once('readable', resolve)).then(() => {
      const body = request.read() as Buffer | null;
      // The HTTP server keeps this connection, at several times the memory of a check-only one. Closing it makes the
      // next check use a new connection.
      if (!by.isSecure && request.httpVersionMajor === 1) response.shouldKeepAlive = false;
      const reply = replyBy(response, (callerId) => prove(request, callerId));
      if (body?.length === length && take({ path, authorization, ...by, body }, reply)) return;
      if (body) request.unshift(body);
      return otherwise();
    });
  };

const replyBy = (response: Response, proven: (callerId: string) => void): Reply => ({
  proven,
  get isGone() {
    return response.destroyed || response.headersSent;
  },
  send(status, headers, body) {
    response.writeHead(status, [...headers, 'content-length', String(body.length)]);
    response.end(body);
  },
  onEnd: (then) => void response.once('close', then),
});
