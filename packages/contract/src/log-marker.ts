/**
 * The field of a log line that stands for lines that were lost: how many. An agent writes such a line where others had to be
 * dropped for want of room, so that a gap is never taken for silence.
 */
export const droppedLinesField = 'lines_dropped';

/** How many lines the line with these fields stands for; 0: it is a line like any other. */
export function droppedLines(fields: readonly Readonly<Record<string, unknown>>[]): number {
  for (const field of fields) {
    const count = field[droppedLinesField];
    if (typeof count === 'number' && Number.isInteger(count) && count > 0) return count;
  }
  return 0;
}
