import type { Addresses } from '../wire/base-url.ts';
import { type CheckRequest, longestCheck, type Reply, checkPaths } from '../wire/check.ts';
import type { Request, Response } from '../wire/request.ts';

/**
 * Config checks that come as HTTP requests. Another protocol, a report, or anything unusual goes on to the RPC as if nothing had been
 * looked at.
 *
 * @returns undefined: the request is untouched.
 */
export const fastPath =
  (
    take: (request: CheckRequest, reply: Reply) => boolean,
    prove: (request: Request, callerId: string) => void,
    { cameBy }: Pick<Addresses, 'cameBy'>,
  ) =>
  (request: Request, response: Response, otherwise: () => void | Promise<void>): Promise<void> | undefined => {
    const { headers, url: path = '' } = request;
    if (!checkPaths.includes(path) || request.method !== 'POST' || headers['content-type'] !== 'application/proto')
      return undefined;
    const length = Number(headers['content-length'] ?? 0);
    const { authorization } = headers;
    const by = cameBy(request);
    if (!(length > 0 && length <= longestCheck) || headers['content-encoding'] !== undefined || !authorization)
      return undefined;
    return new Promise<void>((resolve) => request.once('readable', resolve)).then(() => {
      const body = request.read() as Buffer | null;
      // A connection that has said anything else stays with this server, at several times the memory of one that only checks: the next
      // check comes by a new one.
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
