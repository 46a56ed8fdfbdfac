import { createLog, type Level, type Log, type LogLine } from '../log.ts';
import type { Clock } from '../clock.ts';

const show = ({ level, logger, message, fields }: LogLine): string =>
  `${level} ${logger} ${message}${Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''}`;

/** A log that stores its lines. `text()` formats each as `level logger message {fields}`. */
export function captureLog(clock: Clock, level: Level = 'debug'): { log: Log; lines: LogLine[]; text(): string } {
  const lines: LogLine[] = [];
  return {
    log: createLog({ name: 'test', clock, level, sink: (line) => lines.push(line) }),
    lines,
    text: () => lines.map(show).join('\n'),
  };
}
