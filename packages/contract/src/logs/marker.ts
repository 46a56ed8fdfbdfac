/**
 * Field of a log line that stands for lost lines; its value is their number. The agent writes such a line where it
 * dropped others for lack of space, so that a gap is visible.
 */
export const droppedLinesField = 'lines_dropped';

/** Number of lost lines that the line with these fields stands for; 0: it is an ordinary line. */
export function droppedLines(fields: readonly Readonly<Record<string, unknown>>[]): number {
  for (const field of fields) {
    const count = field[droppedLinesField];
    if (typeof count === 'number' && Number.isInteger(count) && count > 0) return count;
  }
  return 0;
}
