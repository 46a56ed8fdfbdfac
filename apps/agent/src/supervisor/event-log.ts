import type { Clock, LogLine, Sink } from '@platform/kit';
import type { WindowsEvent } from '../os/windows-ports.ts';

/** Numbers of the entries in the event log. A number keeps its meaning. */
export const eventIds = { started: 1, stopped: 2, warning: 10, error: 11 } as const;

const againMs = 60 * 60_000;

/**
 * Passes warnings and errors to the event log of Windows: each message at most once an hour, because an agent that
 * cannot start fails every few seconds. The log file has all lines.
 */
export function warningsAsEvents(
  write: (event: WindowsEvent) => void,
  { format, clock }: { format: (line: LogLine) => string; clock: Pick<Clock, 'now'> },
): Sink {
  const last = new Map<string, number>();
  return (line) => {
    const { level, message } = line;
    if (level !== 'warn' && level !== 'error') return;
    const before = last.get(message);
    if (before !== undefined && clock.now() - before < againMs) return;
    last.set(message, clock.now());
    const type = level === 'error' ? 'error' : 'warning';
    write({ type, id: eventIds[type], text: format(line) });
  };
}
