import type { LogLine } from '@platform/kit';

type Sink = (line: LogLine) => void;
type Said = { from: number; count: number; last: LogLine };

/** Of one message in that time; the words are the same then, only the fields differ. */
const mostLines = 20;
const windowMs = 10_000;

/**
 * What thousands of machines meet at once, as a database that is away, would be said thousands of times: it is said a few times, and then
 * how often it was not. An incident is always written: somebody was told its id.
 */
export function thinned(sink: Sink): Sink {
  const said = new Map<string, Said>();
  const close = (key: string, { count, last }: Said): void => {
    said.delete(key);
    if (count <= mostLines) return;
    const fields = { like: last.message, lines: count - mostLines };
    sink({ time: last.time, level: last.level, logger: last.logger, message: 'lines were left out', fields });
  };
  return (line) => {
    // Set clocks go either way.
    for (const [key, one] of said) if (Math.abs(line.time - one.from) > windowMs) close(key, one);
    const key = `${line.logger} ${line.message}`;
    const known = said.get(key) ?? { from: line.time, count: 0, last: line };
    said.set(key, { ...known, count: known.count + 1, last: line });
    if (known.count < mostLines || line.fields['incident'] !== undefined) sink(line);
  };
}
