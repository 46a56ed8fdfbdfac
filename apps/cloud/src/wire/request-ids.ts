import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { Log } from '@platform/kit';
import type { TrustedProxies } from './addresses.ts';
import type { Request, Response } from './request.ts';

/** IDs by which a user, a proxy and the log name one request. */
export type RequestIds = {
  /** Gives the request an ID, which its response carries. Lines logged by `handle` have it. */
  run<T>(request: Request, response: Response, handle: () => T): T;
  /** ID of the request that is being handled. */
  current(): string | undefined;
  /** Adds the ID to the lines of a log. */
  log(log: Log): Log;
};

export const requestIdHeader = 'x-request-id';

/** Characters that cannot end a line or a field of any log. */
const isReadable = (id: unknown): id is string => typeof id === 'string' && /^[\w.:/+=-]{1,128}$/.test(id);

/** @param isTrusted - proxies whose ID of a request is used. From other clients it could name the request of another user. */
export function requestIds(isTrusted: TrustedProxies): RequestIds {
  const ids = new AsyncLocalStorage<string>();
  const current = (): string | undefined => ids.getStore();
  return {
    run(request, response, handle) {
      const sent = request.headers[requestIdHeader];
      const id = isReadable(sent) && isTrusted(request.socket.remoteAddress) ? sent : randomUUID();
      response.setHeader(requestIdHeader, id);
      return ids.run(id, handle);
    },
    current,
    log: (log) => withIds(log, current),
  };
}

function withIds(log: Log, current: () => string | undefined): Log {
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error'): Log['info'] =>
    (message, fields = {}) => {
      const requestId = current();
      log[level](message, requestId === undefined ? fields : { ...fields, requestId });
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (name, fields) => withIds(log.child(name, fields), current),
  };
}
