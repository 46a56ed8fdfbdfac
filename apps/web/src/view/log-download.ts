import { fieldValue, type LogLine } from './log-lines.ts';
import { safeText } from './log-text.ts';

type Fields = readonly (readonly [name: string, value: unknown])[];

export interface DownloadForm {
  text: string;
  extension: string;
  type: string;
  line: (line: LogLine, fields: Fields) => string;
}

const iso = (line: LogLine): string => new Date(line.time).toISOString();

/** What `platform logs` prints, with and without --json. */
export const downloadForms: readonly DownloadForm[] = [
  {
    text: 'As text',
    extension: 'log',
    type: 'text/plain;charset=utf-8',
    line: (line, fields) => {
      const pairs = fields.map(([name, value]) => `${name}=${fieldValue(value)}`);
      const words =
        line.dropped > 0
          ? [`${iso(line)} ----- ${line.dropped} lines lost here: ${line.message} -----`]
          : [iso(line), line.entry.level.toUpperCase().padEnd(5), line.logger, line.message, ...pairs];
      return `${safeText(words.join(' ')).replaceAll('\n', '\\n')}\n`;
    },
  },
  {
    text: 'As JSON lines',
    extension: 'jsonl',
    type: 'application/jsonl;charset=utf-8',
    line: (line, fields) =>
      `${JSON.stringify({
        time: iso(line),
        level: line.entry.level,
        logger: line.logger,
        message: line.message,
        fields: Object.fromEntries(fields),
        dropped_lines: line.dropped,
      })}\n`,
  },
];
