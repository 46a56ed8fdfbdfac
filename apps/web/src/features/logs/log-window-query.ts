import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { useTransport } from '@connectrpc/connect-query';
import { isAbort } from '@platform/kit';
import { LogDirection, LogService } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useIsSeen } from '../../ui/media.ts';
import { useClock } from '../../ui/time.tsx';
import type { Span } from './log-search.ts';
import {
  emptyWindow,
  type LogWindow,
  overlapMs,
  type Page,
  windowOf,
  withFresh,
  withNewer,
  withOlder,
} from './log-window.ts';

const firstLines = 200;
const moreLines = 1_000;
/** Reads new lines at most this often, whatever their rate. */
const pauseMs = 300;

export interface LogSource {
  /** One to eight; the same list while they are the same. */
  partIds: readonly string[];
  query: string;
  span: Span;
  /** The list begins around this moment. */
  at: number | undefined;
  isEnabled: boolean;
}
export interface LogWindowState {
  window: LogWindow;
  /** The lines of another source are still shown. */
  isLoading: boolean;
  isLive: boolean;
  error: unknown;
  load: (where: 'older' | 'newer') => void;
  reload: () => void;
}

/** Reads pages of a source. */
export function useLogPages({ partIds, query, span: { from, until } }: Pick<LogSource, 'partIds' | 'query' | 'span'>) {
  const transport = useTransport();
  return useMemo(() => {
    const client = createClient(LogService, transport);
    return (
      where: 'older' | 'newer',
      of: { cursor?: string; limit: number; from?: number; until?: number },
      signal: AbortSignal,
    ): Promise<Page> => {
      const first = of.from ?? from;
      const last = of.until ?? until;
      return client.searchLogs(
        {
          partIds: [...partIds],
          query,
          direction: where === 'older' ? LogDirection.NEWEST_FIRST : LogDirection.OLDEST_FIRST,
          cursor: of.cursor ?? '',
          limit: of.limit,
          ...(first !== undefined && { from: timestampFromMs(first) }),
          ...(last !== undefined && { until: timestampFromMs(last) }),
        },
        { signal },
      );
    };
  }, [transport, partIds, query, from, until]);
}
type ReadPage = ReturnType<typeof useLogPages>;

interface Place {
  from: number | undefined;
  until: number | undefined;
  at: number | undefined;
}
async function readFirst(read: ReadPage, { from, until, at }: Place, signal: AbortSignal): Promise<LogWindow> {
  if (at === undefined) return windowOf(await read('older', { limit: firstLines }, signal));
  const end = until ?? Number.POSITIVE_INFINITY;
  // A line of this millisecond is before the border.
  const border = Math.min(Math.max(at, from ?? at) + 1, end);
  const none: Page = { lines: [], hasMore: false };
  const [older, newer] = await Promise.all([
    read('older', { until: border, limit: firstLines }, signal),
    border < end ? read('newer', { from: border, limit: firstLines }, signal) : none,
  ]);
  return windowOf(older, newer);
}

/** Lines that arrived since: those after the newest one, and of the time in which batches overlap. */
async function readFresh(read: ReadPage, window: LogWindow, signal: AbortSignal): Promise<Page[]> {
  const newest = window.lines.at(-1);
  if (!newest) return [await read('older', { limit: firstLines }, signal)];
  const pages: Page[] = [];
  for (let cursor = ''; ;) {
    const page = await read('newer', { from: newest.time - overlapMs, cursor, limit: moreLines }, signal);
    pages.push(page);
    cursor = page.lines.at(-1)?.cursor ?? '';
    if (!page.hasMore || pages.length === 20) return pages;
  }
}

/** The window, and one request of each kind at a time. */
function useAttempts() {
  const [window, setWindow] = useState(emptyWindow);
  const [error, setError] = useState<unknown>();
  /** `isOwn`: the window has lines of this source, not those of the one before, from which nothing is continued. */
  const state = useRef({ window, isOwn: false, end: new AbortController(), busy: new Set<string>(), newest: 0 });
  const show = useCallback((next: LogWindow): void => {
    state.current.window = next;
    setWindow(next);
  }, []);
  const attempt = useCallback(async (what: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    const { end, busy } = state.current;
    if (busy.has(what)) return;
    busy.add(what);
    try {
      await work(end.signal);
      if (!end.signal.aborted) setError(undefined);
    } catch (caught) {
      if (!end.signal.aborted && !isAbort(caught)) setError(caught);
    } finally {
      busy.delete(what);
    }
  }, []);
  /** Ends what runs for another source. */
  const begin = useCallback((): AbortController => {
    const end = new AbortController();
    state.current = { ...state.current, isOwn: false, end, busy: new Set() };
    setError(undefined);
    return end;
  }, []);
  return { window, error, state, show, attempt, begin };
}
type Attempts = ReturnType<typeof useAttempts>;

/** Reads the first lines whenever the source changes. @returns whether they are still on their way. */
function useFirstLines(
  { state, show, attempt, begin }: Attempts,
  source: LogSource,
  read: ReadPage,
  round: number,
): boolean {
  const { at, isEnabled } = source;
  const { from, until } = source.span;
  const clock = useClock();
  const [isLoading, setLoading] = useState(true);
  useEffect(() => {
    const end = begin();
    setLoading(true);
    const load = async (): Promise<void> => {
      await attempt('first', async (signal) => {
        const first = await readFirst(read, { from, until, at }, signal);
        // Lines are read in one task and drawn in another one.
        await clock.sleep(1, signal);
        if (signal.aborted) return;
        state.current.isOwn = true;
        show(first);
      });
      if (!end.signal.aborted) setLoading(false);
    };
    if (isEnabled) void load();
    return () => end.abort();
  }, [attempt, begin, show, state, clock, read, from, until, at, isEnabled, round]);
  return isLoading;
}

/** Reads new lines when there are some, as long as the newest ones are loaded. */
function useFreshLines({ state, show, attempt }: Attempts, read: ReadPage, news: number, isWanted: boolean): void {
  const clock = useClock();
  useEffect(() => {
    if (!isWanted || news === 0 || !state.current.isOwn) return;
    state.current.newest = news;
    void attempt('fresh', async (signal) => {
      for (let handled = -1; handled !== state.current.newest && !signal.aborted;) {
        handled = state.current.newest;
        const pages = await readFresh(read, state.current.window, signal);
        if (!signal.aborted) show(withFresh(state.current.window, pages));
        await clock.sleep(pauseMs, signal);
      }
    });
  }, [attempt, show, state, clock, read, news, isWanted]);
}

/** Lines of a source, loaded around a moment or at the end, and on in both directions. New ones come in by themselves. */
export function useLogWindow(source: LogSource): LogWindowState {
  const { partIds, isEnabled, span } = source;
  const read = useLogPages(source);
  const attempts = useAttempts();
  const { window, state, show, attempt } = attempts;
  const [round, setRound] = useState(0);
  const isLoading = useFirstLines(attempts, source, read, round);
  const isOpen = isEnabled && span.until === undefined;
  // The first message of a stream says that lines may have arrived: those of the hidden time are read when it opens again.
  const news = useLogNews(partIds, useIsSeen() && isOpen);
  useFreshLines(attempts, read, news.count, isOpen && !isLoading && !window.hasNewer);
  const load = useCallback(
    (where: 'older' | 'newer'): void => {
      const { lines, hasOlder, hasNewer } = state.current.window;
      if (!state.current.isOwn) return;
      const edge = where === 'older' ? lines[0] : lines.at(-1);
      if (!edge || !(where === 'older' ? hasOlder : hasNewer)) return;
      void attempt(where, async (signal) => {
        const page = await read(where, { cursor: edge.cursor, limit: moreLines }, signal);
        const grow = where === 'older' ? withOlder : withNewer;
        if (!signal.aborted) show(grow(state.current.window, page));
      });
    },
    [attempt, read, show, state],
  );
  return {
    window,
    isLoading,
    isLive: isOpen && news.isLive && !window.hasNewer,
    error: attempts.error ?? (isOpen ? news.error : undefined),
    load,
    reload: () => setRound((before) => before + 1),
  };
}

/** The delay before a broken stream is reopened. */
const reopenMs = 2000;

interface News {
  /** Counts up whenever lines have arrived, and when the stream opens. */
  count: number;
  isLive: boolean;
  /** The error of the last attempt; undefined while the stream is open. */
  error: unknown;
}

/** Whether lines of some parts have arrived; the stream is reopened whenever it ends. */
function useLogNews(partIds: readonly string[], isWanted: boolean): News {
  const transport = useTransport();
  const clock = useClock();
  const [news, setNews] = useState<News>({ count: 0, isLive: false, error: undefined });
  useEffect(() => {
    if (!isWanted) return undefined;
    const end = new AbortController();
    const client = createClient(LogService, transport);
    const listen = async (): Promise<void> => {
      while (!end.signal.aborted) {
        let error: unknown;
        try {
          const stream = client.watchLogs({ partIds: [...partIds] }, { signal: end.signal });
          // Its first message comes when the server listens.
          for await (const _ of stream) setNews(({ count }) => ({ count: count + 1, isLive: true, error: undefined }));
        } catch (caught) {
          if (!isAbort(caught)) error = caught;
        }
        if (end.signal.aborted) return;
        setNews((before) => ({ ...before, isLive: false, error }));
        await clock.sleep(reopenMs, end.signal);
      }
    };
    void listen();
    return () => {
      end.abort();
      setNews((before) => ({ ...before, isLive: false, error: undefined }));
    };
  }, [transport, clock, partIds, isWanted]);
  return news;
}
