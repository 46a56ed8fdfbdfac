/** Replaces control characters: names and log lines must not send them to the terminal. */
export const printable = (text: string): string =>
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, '?');

/** Breaks `text` at spaces into lines of at most `width` columns; a longer word gets its own line. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of printable(text).split(/\s+/)) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

/** Names and values, one per line, with values wrapped beside their names; empty values are left out. */
export function listed(entries: readonly (readonly [name: string, value: string])[], width: number): string[] {
  const shown = entries.filter(([, value]) => value !== '');
  const label = Math.max(0, ...shown.map(([name]) => name.length)) + 2;
  return shown.flatMap(([name, value]) =>
    wrapped(value, width - label).map((line, i) => (i === 0 ? name : '').padEnd(label) + line),
  );
}

/** An aligned table with a header. If it does not fit, each row becomes a list of names and values. */
export function tabled(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const all = [header.map((title) => title.toUpperCase()), ...rows.map((row) => row.map(printable))];
  const widths = header.map((_, i) => Math.max(...all.map((row) => row[i]?.length ?? 0)));
  if (widths.reduce((sum, one) => sum + one, 2 * (widths.length - 1)) > columns) {
    return rows.flatMap((row, i) => [
      ...(i === 0 ? [] : ['']),
      ...listed(
        header.map((title, at) => [title, row[at] ?? ''] as const),
        columns,
      ),
    ]);
  }
  return all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}
