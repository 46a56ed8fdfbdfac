import type { LogLine, Sink } from '../log.ts';

/** `text` is for users: `2026-01-01T00:00:00.000Z INFO agent.sync message key=value`; `json`: one object per line. */
export function formatLine(line: LogLine, format: 'text' | 'json'): string {
  const time = new Date(line.time).toISOString();
  if (format === 'json') return JSON.stringify({ ...line, time });
  const fields = Object.entries(line.fields)
    .filter(([, v]) => v !== undefined)
    .map(([k, v]) => `${k}=${typeof v === 'string' ? quoted(v) : JSON.stringify(v)}`);
  return [time, line.level.toUpperCase().padEnd(5), line.logger, line.message, ...fields].join(' ');
}

const quoted = (text: string): string => (/^[^\s"=]+$/.test(text) ? text : JSON.stringify(text));

export const stderrSink =
  (format: 'text' | 'json'): Sink =>
  (line) => {
    process.stderr.write(`${formatLine(line, format)}\n`);
  };
