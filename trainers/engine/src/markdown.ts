/** Markdown helpers for model cards. */

export const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

type Cell = string | number;
const escaped = (text: string): string => text.replaceAll('|', '\\|');
const row = (cells: readonly Cell[]): string => `| ${cells.map((one) => escaped(String(one))).join(' | ')} |`;

export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string[] {
  return [row(head), `|${'---|'.repeat(head.length)}`, ...rows.map(row)];
}
/** Empty if there are no items. */
export function section(title: string, items: readonly string[]): string[] {
  return items.length === 0 ? [] : ['', `## ${title}`, ...items.map((item) => `- ${item}`)];
}

/** Note below tables of scores. */
export const intervalNote =
  'In brackets: Wilson’s 95 % interval for this number of images or boxes. On fewer than 20, precision and recall are counts.';
