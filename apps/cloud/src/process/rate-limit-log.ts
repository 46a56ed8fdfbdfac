import type { LogLine } from '@platform/kit';

type Sink = (line: LogLine) => void;
type RepeatedLine = { from: number; count: number; last: LogLine };

/** Limit per message in `windowMs`; lines of one message differ only in their fields. */
const mostLines = 20;
const windowMs = 10_000;

/**
 * Rate limit for repeated log lines. If thousands of machines meet a problem at once, it logs some lines and then the
 * number omitted. Lines with an incident are always written, because a client has received its ID.
 */
export function rateLimitLog(sink: Sink): Sink {
  const repeated = new Map<string, RepeatedLine>();
  const close = (key: string, { count, last }: RepeatedLine): void => {
    repeated.delete(key);
    if (count <= mostLines) return;
    const fields = { like: last.message, lines: count - mostLines };
    sink({ time: last.time, level: last.level, logger: last.logger, message: 'lines were left out', fields });
  };
  return (line) => {
    // The wall clock may jump in either direction.
    for (const [key, one] of repeated) if (Math.abs(line.time - one.from) > windowMs) close(key, one);
    const key = `${line.logger} ${line.message}`;
    const known = repeated.get(key) ?? { from: line.time, count: 0, last: line };
    repeated.set(key, { ...known, count: known.count + 1, last: line });
    if (known.count < mostLines || line.fields['incident'] !== undefined) sink(line);
  };
}
