import type { Log } from '@platform/kit';

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

/** Each request of the agent as one debug line. The parts that send are made before there is a log that leaves the machine. */
export class RequestTrace {
  #logOf: ((path: string) => Pick<Log, 'debug'>) | undefined;

  /** @param logOf - the log for requests with this path: those that send log lines must not make more of them. */
  listen(logOf: (path: string) => Pick<Log, 'debug'>): void {
    this.#logOf = logOf;
  }

  /** Of a URL only where it leads: a query may hold a token. */
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

  /** A log whose debug lines go the way of the requests. */
  over(log: Log): Log {
    return { ...log, debug: (message, fields) => this.#logOf?.('').debug(message, fields) };
  }
}
