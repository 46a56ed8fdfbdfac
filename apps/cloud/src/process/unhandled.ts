import { errorText, type Log } from '@platform/kit';

/**
 * Failures that no code handled. Each one is a bug of this server; none may end the process, which serves the whole
 * fleet.
 */
export type Unhandled = {
  /** Since the start. */
  readonly count: number;
  report(error: unknown, where: string): void;
};

export function unhandledFailures(log: Log): Unhandled {
  const seen = { count: 0 };
  return {
    get count() {
      return seen.count;
    },
    report(error, where) {
      seen.count++;
      log.error('a failure was not handled: please report this bug', {
        where,
        count: seen.count,
        error: errorText(error),
        stack: error instanceof Error ? error.stack : undefined,
      });
    },
  };
}
