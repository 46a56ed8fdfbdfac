import { logLevels, type LogLevel } from '@platform/contract/logs/levels';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

/** Times up to now that a user can choose. */
export const ranges = { '15m': 15 * minute, '1h': hour, '6h': 6 * hour, '1d': day, '7d': 7 * day, '30d': 30 * day };
export type Range = keyof typeof ranges;
const isRange = (text: unknown): text is Range => typeof text === 'string' && Object.hasOwn(ranges, text);

/** What the URL of LOGS says. Times are ms since 1970. */
export interface LogSearch {
  q?: string;
  /** Levels that are not shown, with commas. */
  hide?: string;
  range?: Range;
  from?: number;
  until?: number;
  /** The list shows the lines around this moment. */
  at?: number;
  /** The line of that moment that is open, by its position. */
  line?: string;
  /** Left out: that of the reader. */
  zone?: 'utc' | 'machine';
}

const timeOf = (value: unknown): number | undefined => {
  const ms = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15 ? ms : undefined;
};

/** What of a URL can be understood; the rest is left out. */
export function readLogSearch(url: Record<string, unknown>): LogSearch {
  const { q, hide, range, line, zone } = url;
  const [from, until, at] = [timeOf(url['from']), timeOf(url['until']), timeOf(url['at'])];
  const isOrdered = from === undefined || until === undefined || from < until;
  const hidden = logLevels.filter((level) => typeof hide === 'string' && hide.split(',').includes(level));
  return {
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' && { q: String(q) }),
    ...(hidden.length > 0 && hidden.length < logLevels.length && { hide: hidden.join(',') }),
    ...(isRange(range) && { range }),
    ...(!isRange(range) && isOrdered && from !== undefined && { from }),
    ...(!isRange(range) && isOrdered && until !== undefined && { until }),
    ...(at !== undefined && { at }),
    ...(at !== undefined && (typeof line === 'string' || typeof line === 'number') && { line: String(line) }),
    ...((zone === 'utc' || zone === 'machine') && { zone }),
  };
}

export const shownLevels = ({ hide = '' }: Pick<LogSearch, 'hide'>): readonly LogLevel[] =>
  logLevels.filter((level) => !hide.split(',').includes(level));

/** The query of the list: that of the user, with the shown levels. */
export function listQuery(search: LogSearch): string {
  const shown = shownLevels(search);
  const levels = shown.length === logLevels.length ? '' : `level:${shown.join(',')}`;
  return [search.q ?? '', levels].join(' ').trim();
}

export interface Span {
  from?: number;
  until?: number;
}

/** The lines that the list may show; without an end, new lines come in. */
export const listSpan = ({ range, from, until }: LogSearch, now: number): Span =>
  range !== undefined
    ? { from: now - ranges[range] }
    : { ...(from !== undefined && { from }), ...(until !== undefined && { until }) };

/** The time that the ruler shows. */
export function rulerSpan(search: LogSearch, now: number): Required<Span> {
  const { range, from, until, at } = search;
  if (range !== undefined) return { from: now - ranges[range], until: now };
  if (from !== undefined) return { from, until: until ?? Math.max(now, from + minute) };
  if (until !== undefined) return { from: until - day, until };
  return at === undefined ? { from: now - day, until: now } : { from: at - hour, until: at + hour };
}

/** Without the open line. */
export const withoutLine = (search: LogSearch): LogSearch => without(search, ['line']);
/** At the newest line. */
export const atEnd = (search: LogSearch): LogSearch => without(search, ['at', 'line']);
export const without = (search: LogSearch, names: readonly (keyof LogSearch)[]): LogSearch =>
  Object.fromEntries(Object.entries(search).filter(([name]) => !names.includes(name as keyof LogSearch)));

/** Another time replaces each one before. */
export const withSpan = (search: LogSearch, span: Span | { range: Range }): LogSearch => {
  const { q, hide, zone } = search;
  return { ...(q !== undefined && { q }), ...(hide !== undefined && { hide }), ...(zone && { zone }), ...span };
};
