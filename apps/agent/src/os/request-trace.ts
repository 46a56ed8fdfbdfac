import type { Clock, Log } from '@platform/kit';

export interface TracedRequest {
  method: string;
  url: string;
  /** Undefined: there was no answer. */
  status: number | undefined;
  sentBytes: number;
  receivedBytes: number;
  ms: number;
  problem?: string;
}

/** Logs each request of the agent as a debug line. The senders are created before the log that is uploaded exists. */
export class RequestTrace {
  #logOf: ((path: string) => Pick<Log, 'debug'>) | undefined;

  /** @param logOf - the log for requests with this path: uploads of log lines must not produce more lines. */
  listen(logOf: (path: string) => Pick<Log, 'debug'>): void {
    this.#logOf = logOf;
  }

  /** Logs only host and path of a URL: a query may hold a token. */
  report({ method, url, status, sentBytes, receivedBytes, ms, problem }: TracedRequest): void {
    const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: url };
    const route = `${method} ${pathname}`;
    this.#logOf?.(pathname).debug('request', {
      route,
      host,
      status: status ?? 'no answer',
      sentBytes,
      receivedBytes,
      ms: Math.round(ms),
      ...(problem !== undefined && { problem }),
    });
  }

  /** Begins a request without a body. @returns what reports its end */
  begin({ method, url }: Pick<TracedRequest, 'method' | 'url'>, clock: Clock) {
    const began = clock.now();
    return (status: number | undefined, receivedBytes: number, problem?: string): void => {
      const ms = clock.now() - began;
      this.report({ method, url, status, sentBytes: 0, receivedBytes, ms, ...(problem !== undefined && { problem }) });
    };
  }

  /** A log whose debug lines go to the log of the requests. */
  over(log: Log): Log {
    return { ...log, debug: (message, fields) => this.#logOf?.('').debug(message, fields) };
  }
}
