import { create } from '@bufbuild/protobuf';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { AppService, GetRobotPartLogsRequestSchema } from '@platform/contract/gen/platform/app/v1/app_pb';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useId, useMemo, useState } from 'react';
import { MachineIcon, PauseIcon, PlayIcon } from '../parts/icons.tsx';
import { EmptyState, FailureNote, Loading } from '../parts/messages.tsx';
import { useDebounced } from '../parts/time.tsx';
import { Dot } from '../parts/badges.tsx';
import { failureOf } from '../view/failures.ts';
import { levels, toLogLine, mergeLines, maxLines, loggerNamesOf, matchesFilter } from '../view/log-lines.ts';
import type { Level } from '../view/log-lines.ts';
import { formatCount } from '../view/quantities.ts';
import { toggleItem } from '../view/selection.ts';
import { LogList } from './log-list.tsx';
import { useLogTail } from './log-tail.ts';
import type { Tail } from './log-tail.ts';
import { useMachine } from './machine-query.ts';

const pageSize = 200n;
const settleMs = 300;
const noLevels: ReadonlySet<Level> = new Set();

/** LOGS: lines of agent and server; older ones by page, new ones live. */
export function LogsTab() {
  const partId = useMachine().data?.machine?.partId;
  return partId === undefined ? <Loading /> : <Logs partId={partId} />;
}

interface LineFilter {
  hidden: ReadonlySet<Level>;
  search: string;
}

/** The saved lines that pass the filter, by page, the newest page first. */
function useLogHistory(partId: string, { hidden, search }: LineFilter) {
  const transport = useTransport();
  const settled = useDebounced(search.trim(), settleMs);
  const shown = levels.filter((level) => !hidden.has(level));
  return useInfiniteQuery({
    queryKey: ['part-logs', partId, settled, shown.join()],
    initialPageParam: '',
    staleTime: Infinity,
    gcTime: 0,
    // Until the new filter's answer arrives, the known lines are filtered here.
    placeholderData: keepPreviousData,
    queryFn: ({ pageParam, signal }) => {
      const request = create(GetRobotPartLogsRequestSchema, {
        id: partId,
        limit: pageSize,
        pageToken: pageParam,
        ...(settled === '' ? {} : { filter: settled }),
        ...(shown.length === levels.length ? {} : { levels: loggerNamesOf(shown) }),
      });
      return callUnaryMethod(transport, AppService.method.getRobotPartLogs, request, { signal });
    },
    getNextPageParam: (page) => page.nextPageToken || undefined,
  });
}

function Logs({ partId }: { partId: string }) {
  const [filter, setFilter] = useState<LineFilter>({ hidden: noLevels, search: '' });
  const history = useLogHistory(partId, filter);
  const tail = useLogTail(partId);
  const { refetch } = history;
  useEffect(() => {
    // Fetches the lines from before the stream opened, or from between two streams.
    if (tail.isLive) void refetch();
  }, [tail.isLive, refetch]);

  const past = history.data?.pages;
  const lines = useMemo(() => {
    const old = (past ?? []).flatMap((page) => page.logs.map(toLogLine));
    const shown = new Set(levels.filter((level) => !filter.hidden.has(level)));
    return mergeLines(mergeLines([], old), tail.lines).filter((line) =>
      matchesFilter(line, { levels: shown, text: filter.search }),
    );
  }, [past, tail.lines, filter]);

  return (
    <div className="stack">
      <div className="log-bar">
        <FilterFields filter={filter} onChange={setFilter} />
        <button type="button" className="button" aria-pressed={tail.isPaused} onClick={tail.toggle}>
          {tail.isPaused ? <PlayIcon /> : <PauseIcon />}
          {tail.isPaused ? 'Go on' : 'Pause'}
        </button>
      </div>
      {history.error && <FailureNote error={history.error} />}
      {tail.error !== undefined && failureOf(tail.error).code !== 'UNAVAILABLE' && <FailureNote error={tail.error} />}
      <TailState tail={tail} lines={lines.length} />
      {history.isPending ? (
        <Loading />
      ) : lines.length === 0 ? (
        <NoLines isFiltered={filter.search !== '' || filter.hidden.size > 0} />
      ) : (
        <LogList
          lines={lines}
          isFollowing={!tail.isPaused}
          older={
            <OlderLines
              hasMore={history.hasNextPage}
              isFull={lines.length >= maxLines}
              isLoading={history.isFetchingNextPage}
              onLoad={() => void history.fetchNextPage()}
            />
          }
        />
      )}
    </div>
  );
}

function FilterFields({ filter, onChange }: { filter: LineFilter; onChange: (filter: LineFilter) => void }) {
  const searchField = useId();
  const { hidden, search } = filter;
  return (
    <>
      <fieldset className="row log-levels">
        <legend className="hidden-text">Levels</legend>
        {levels.map((level) => (
          <label key={level} className="choice">
            <input
              type="checkbox"
              checked={!hidden.has(level)}
              onChange={() => onChange({ search, hidden: toggleItem(hidden, level) })}
            />
            {level}
          </label>
        ))}
      </fieldset>
      <div className="log-search">
        <label className="hidden-text" htmlFor={searchField}>
          Search text
        </label>
        <input
          id={searchField}
          className="input"
          type="search"
          placeholder="Search text"
          value={search}
          onChange={(event) => onChange({ hidden, search: event.target.value })}
        />
      </div>
    </>
  );
}

const TailState = ({ tail, lines }: { tail: Tail; lines: number }) => (
  <div className="row small soft" role="status">
    <Dot tone={tail.isPaused ? 'warn' : tail.isLive ? 'good' : 'quiet'} />
    <span>
      {tail.isPaused
        ? `Paused, ${formatCount(tail.waiting, 'new line')} waiting`
        : tail.isLive
          ? 'Live'
          : 'Connecting …'}
    </span>
    <span className="push">{formatCount(lines, 'line')}</span>
  </div>
);

const NoLines = ({ isFiltered }: { isFiltered: boolean }) => (
  <div className="card">
    <EmptyState icon={<MachineIcon />} title={isFiltered ? 'No line passes the filter' : 'No log lines yet'}>
      <p>
        {isFiltered
          ? 'Show more levels or search for another text. New lines appear automatically.'
          : 'Lines of the agent and of the machine server appear here as soon as the machine is online. Lines from a time offline come later, in order.'}
      </p>
    </EmptyState>
  </div>
);

interface OlderLinesProps {
  hasMore: boolean;
  /** The page shows as many lines as it can. */
  isFull: boolean;
  isLoading: boolean;
  onLoad: () => void;
}
/** Loads the lines before the first one; otherwise says why there are none. */
const OlderLines = ({ hasMore, isFull, isLoading, onLoad }: OlderLinesProps) =>
  hasMore && !isFull ? (
    <button type="button" className="button button-small" disabled={isLoading} onClick={onLoad}>
      {isLoading ? 'Loading …' : 'Load older lines'}
    </button>
  ) : (
    <span className="soft small">{isFull ? `The newest ${maxLines} lines` : 'The first line there is'}</span>
  );
