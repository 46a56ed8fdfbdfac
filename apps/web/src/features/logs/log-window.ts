import type { SearchLogsResponse } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { toLogLine, type LogLine } from '../../entities/log/log-lines.ts';

/** A line with the place from which the server goes on. */
export interface PlacedLine extends LogLine {
  partId: string;
  cursor: string;
}
/** Lines of a time, of which those before and after may not be loaded. */
export interface LogWindow {
  lines: readonly PlacedLine[];
  hasOlder: boolean;
  hasNewer: boolean;
}
export const emptyWindow: LogWindow = { lines: [], hasOlder: false, hasNewer: false };

/** Bounds the memory of a page. */
const mostLines = 100_000;
/** Lines of agent and server come in batches, whose times overlap. */
export const overlapMs = 10_000;

export type Page = Pick<SearchLogsResponse, 'lines' | 'hasMore'>;
const linesOf = ({ lines }: Page): PlacedLine[] =>
  lines.flatMap(({ entry, cursor, partId }) => (entry ? [{ ...toLogLine(entry), partId, cursor }] : []));

/** A first page, newest line first, and lines after it. */
export const windowOf = (older: Page, newer?: Page): LogWindow => ({
  lines: [...linesOf(older).toReversed(), ...(newer ? linesOf(newer) : [])],
  hasOlder: older.hasMore,
  hasNewer: newer?.hasMore ?? false,
});

/** Beyond the limit, the newest lines go: the user looks at the oldest. */
export function withOlder(window: LogWindow, page: Page, most = mostLines): LogWindow {
  const lines = [...linesOf(page).toReversed(), ...window.lines];
  return {
    lines: lines.length > most ? lines.slice(0, most) : lines,
    hasOlder: page.hasMore,
    hasNewer: window.hasNewer || lines.length > most,
  };
}

export function withNewer(window: LogWindow, page: Page, most = mostLines): LogWindow {
  const lines = [...window.lines, ...linesOf(page)];
  return {
    lines: lines.length > most ? lines.slice(-most) : lines,
    hasOlder: window.hasOlder || lines.length > most,
    hasNewer: page.hasMore,
  };
}

const inOrder = (a: PlacedLine, b: PlacedLine): number =>
  a.time - b.time || (a.position < b.position ? -1 : a.position > b.position ? 1 : 0);

/** Lines that arrived meanwhile, of which some are known; only the end of the list is touched. */
export function withFresh(window: LogWindow, pages: readonly Page[], most = mostLines): LogWindow {
  const found = pages.flatMap(linesOf);
  const earliest = found.reduce((least, { time }) => Math.min(least, time), Number.POSITIVE_INFINITY);
  let from = window.lines.length;
  while (from > 0 && (window.lines[from - 1]?.time ?? 0) >= earliest) from -= 1;
  const end = window.lines.slice(from);
  const known = new Set(end.map(({ key }) => key));
  const fresh = found.filter(({ key }) => !known.has(key) && known.add(key));
  if (fresh.length === 0) return window;
  const lines = [...window.lines.slice(0, from), ...[...end, ...fresh].toSorted(inOrder)];
  return {
    lines: lines.length > most ? lines.slice(-most) : lines,
    hasOlder: window.hasOlder || lines.length > most,
    hasNewer: false,
  };
}
