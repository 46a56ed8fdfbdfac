import type { DescEnum } from '@bufbuild/protobuf';
import { formatDuration } from '@platform/kit';
import { protectOutput } from './secret-output.ts';
import { cut, displayWidth, padded, printable, wrapped } from './terminal-text.ts';

export { printable } from './terminal-text.ts';

/** Columns with values that users copy are never truncated. */
const isWhole = (title: string): boolean => /(^|\s)id$/.test(title) || title === 'version';
const narrowest = 8;

/**
 * Formats rows as an aligned table with a header, for users. Replaces control characters in names.
 *
 * @param width - columns of the terminal. If the table is wider, long cells are truncated; if that is not enough,
 *   each row becomes a block of lines. Without it the table is as wide as it needs.
 */
export function tableText(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  width: number = Number.POSITIVE_INFINITY,
): string {
  const titles = header.map((title) => title.toUpperCase());
  const clean = rows.map((row) => row.map(printable));
  const widths = titles.map((title, i) =>
    Math.max(displayWidth(title), ...clean.map((row) => displayWidth(row[i] ?? ''))),
  );
  const fitted = fit(widths, header, width);
  if (!fitted) return blocks(titles, clean, width);
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => cut(cell, fitted[i] ?? 0))
      .map((cell, i) => (i === cells.length - 1 ? cell : padded(cell, fitted[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(titles), ...clean.map(line)].join('\n');
}

/** Column widths that fit; undefined if no column can be reduced further. */
function fit(widths: readonly number[], header: readonly string[], width: number): number[] | undefined {
  const fitted = [...widths];
  let excess = fitted.reduce((sum, one) => sum + one, 2 * (fitted.length - 1)) - width;
  while (excess > 0) {
    const widest = fitted
      .map((one, i) => ({ one, i }))
      .filter(({ one, i }) => one > narrowest && !isWhole(header[i] ?? ''))
      .toSorted((a, b) => b.one - a.one)[0];
    if (!widest) return undefined;
    fitted[widest.i] = widest.one - 1;
    excess--;
  }
  return fitted;
}

/** One block per row, with a line for each non-empty cell. */
function blocks(titles: readonly string[], rows: readonly (readonly string[])[], width: number): string {
  const label = Math.max(...titles.map(displayWidth));
  return rows
    .map((row) =>
      row
        .map((cell, i) => ({ cell, title: titles[i] ?? '', isKept: isWhole((titles[i] ?? '').toLowerCase()) }))
        .filter(({ cell }) => cell !== '')
        .map(({ cell, title, isKept }) => {
          const room = Math.max(narrowest, width - label - 2);
          return `${padded(title, label)}  ${isKept ? cell : cut(cell, room)}`;
        })
        .join('\n'),
    )
    .join('\n\n');
}

/** Names and values, one per line; omits empty values. */
export function listText(entries: readonly (readonly [name: string, value: string])[]): string {
  const shown = entries.filter(([, value]) => value !== '');
  const label = Math.max(0, ...shown.map(([name]) => name.length));
  return shown
    .map(
      ([name, value]) =>
        `${name.padEnd(label)}  ${value
          .split('\n')
          .map(printable)
          .join(`\n${' '.repeat(label + 2)}`)}`,
    )
    .join('\n');
}

/** The enum value's name in lower-case words: "awaiting setup"; '' for an unknown value of a newer server. */
export const enumWord = (desc: DescEnum, value: number | undefined): string =>
  enumName(desc, value).replaceAll('_', ' ');

/** Like enumWord, for programs: "awaiting_setup". */
export const enumName = (desc: DescEnum, value: number | undefined): string =>
  (value === undefined ? '' : (desc.value[value]?.localName ?? '')).toLowerCase();

/** A protobuf timestamp as ISO 8601; '' if absent. */
export function isoTime(time: { seconds: bigint; nanos: number } | undefined): string {
  if (!time) return '';
  return new Date(Number(time.seconds) * 1000 + Math.floor(time.nanos / 1e6)).toISOString();
}

/** "3 s ago", "5 min ago", "2 h ago", "9 d ago" relative to `nowMs`; '' if absent. */
export function ago(time: { seconds: bigint } | undefined, nowMs: number): string {
  if (!time) return '';
  return `${formatDuration(nowMs / 1000 - Number(time.seconds))} ago`;
}

/** "1 image", "2 images", "3 boxes". */
export const counted = (n: number, one: string, many = `${one}s`): string => `${n} ${n === 1 ? one : many}`;

export const percentText = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** Reports that a list was truncated at the limit of a response. */
export function noteTruncated(output: Output, isTruncated: boolean, what: string): void {
  if (isTruncated) output.note(`\nThere are more ${what}. These are the newest.`);
}

interface TextOut {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly fd?: number;
  readonly columns?: number;
}

export interface Output {
  /** For users: stdout unless --json. */
  text(text: string): void;
  /** For users: one line, broken between words to fit the terminal. */
  sentence(text: string): void;
  /** For users: rows that fit the terminal. */
  table(header: readonly string[], rows: readonly (readonly string[])[]): void;
  /** For programs: one JSON document on stdout, only with --json. */
  json(value: unknown): void;
  /** The result contains a secret: restricts an output file to its owner. Call it before printing. */
  secret(): void;
  /** For users, in addition to the result: stderr, also with --json. */
  note(text: string): void;
  /** Like a note: one line, broken between words if stderr is a terminal. */
  warn(warning: string): void;
}

export function createOutput(isJson: boolean, stdout: TextOut, stderr: TextOut = process.stderr): Output {
  const text = (words: string): void => void (isJson || stdout.write(`${words}\n`));
  return {
    text,
    sentence: (line) => text(lineFor(stdout, line)),
    table: (header, rows) => text(tableText(header, rows, widthOf(stdout))),
    json: (value) =>
      void (
        isJson &&
        stdout.write(`${JSON.stringify(value, (_key, v: unknown) => (typeof v === 'bigint' ? Number(v) : v))}\n`)
      ),
    secret: () => void (stdout.fd !== undefined && process.platform !== 'win32' && protectOutput(stdout.fd)),
    note: (words) => void stderr.write(`${words}\n`),
    warn: (warning) => void stderr.write(`${lineFor(stderr, warningText(warning))}\n`),
  };
}

export const warningText = (warning: string): string => `Warning: ${warning}`;

const widthOf = (out: TextOut): number | undefined => (out.isTTY ? out.columns : undefined);
function lineFor(out: TextOut, line: string): string {
  const width = widthOf(out);
  return width === undefined ? printable(line) : wrapped(line, width).join('\n');
}
