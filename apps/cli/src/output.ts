import type { DescEnum } from '@bufbuild/protobuf';

/** Rows as an aligned table with a header, for people. Control characters of names never reach the terminal. */
export function tableText(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const clean = rows.map((row) => row.map(printable));
  const widths = header.map((title, i) => Math.max(title.length, ...clean.map((row) => (row[i] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (i === cells.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  return [line(header.map((title) => title.toUpperCase())), ...clean.map(line)].join('\n');
}

/** Text that can't move the cursor, change colours or forge lines. */
export function printable(text: string): string {
  return Array.from(text, (c) => (c < ' ' || (c >= '\u007f' && c <= '\u009f') ? '\ufffd' : c)).join('');
}

/** The value's name in lower-case words: "awaiting setup"; '' for a value of a newer server. */
export const enumWord = (desc: DescEnum, value: number | undefined): string =>
  (value === undefined ? '' : (desc.value[value]?.localName ?? '')).toLowerCase().replaceAll('_', ' ');

/** Seconds since 1970 of a protobuf timestamp as ISO 8601; '' when absent. */
export function isoTime(time: { seconds: bigint; nanos: number } | undefined): string {
  if (!time) return '';
  return new Date(Number(time.seconds) * 1000 + Math.floor(time.nanos / 1e6)).toISOString();
}

/** "3 s", "5 min", "2 h", "9 d" before `nowMs`; '' when absent. */
export function ago(time: { seconds: bigint } | undefined, nowMs: number): string {
  if (!time) return '';
  const s = Math.max(0, Math.round(nowMs / 1000 - Number(time.seconds)));
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  return s < 172_800 ? `${Math.floor(s / 3600)} h ago` : `${Math.floor(s / 86_400)} d ago`;
}

export interface Output {
  /** For people: stdout unless --json. */
  text(text: string): void;
  /** For programs: one JSON document on stdout, only with --json. */
  json(value: unknown): void;
}

export function createOutput(isJson: boolean, stdout: { write(text: string): unknown }): Output {
  return {
    text: (text) => void (isJson || stdout.write(`${text}\n`)),
    json: (value) =>
      void (
        isJson &&
        stdout.write(`${JSON.stringify(value, (_key, v: unknown) => (typeof v === 'bigint' ? Number(v) : v))}\n`)
      ),
  };
}
