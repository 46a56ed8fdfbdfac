import { fieldValue, type LogLine } from '../../entities/log/log-lines.ts';
import { safeText } from './log-text.ts';

type Fields = readonly (readonly [name: string, value: unknown])[];

export interface DownloadForm {
  text: string;
  extension: string;
  type: string;
  /** `machine`: of a file with the lines of several. */
  line: (line: LogLine, fields: Fields, machine?: string) => string;
}

const iso = (line: LogLine): string => new Date(line.time).toISOString();

/** What `platform logs` prints, with and without --json. */
export const downloadForms: readonly DownloadForm[] = [
  {
    text: 'As text',
    extension: 'log',
    type: 'text/plain;charset=utf-8',
    line: (line, fields, machine) => {
      const of = machine === undefined ? [] : [machine];
      const pairs = fields.map(([name, value]) => `${name}=${fieldValue(value)}`);
      const words =
        line.dropped > 0
          ? [`${iso(line)} ----- ${line.dropped} lines lost here: ${line.message} -----`, ...of]
          : [iso(line), ...of, line.entry.level.toUpperCase().padEnd(5), line.logger, line.message, ...pairs];
      return `${safeText(words.join(' ')).replaceAll('\n', '\\n')}\n`;
    },
  },
  {
    text: 'As JSON lines',
    extension: 'jsonl',
    type: 'application/jsonl;charset=utf-8',
    line: (line, fields, machine) =>
      `${JSON.stringify({
        time: iso(line),
        ...(machine !== undefined && { machine }),
        level: line.entry.level,
        logger: line.logger,
        message: line.message,
        fields: Object.fromEntries(fields),
        dropped_lines: line.dropped,
      })}\n`,
  },
];
