import { create } from '@bufbuild/protobuf';
import { callUnaryMethod, useTransport } from '@connectrpc/connect-query';
import { AppService, GetRobotPartLogsRequestSchema } from '@platform/contract/gen/platform/app/v1/app_pb';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useId, useMemo, useState } from 'react';
import { PauseIcon, PlayIcon } from '../parts/icons.tsx';
import { EmptyState, FailureNote, Loading } from '../parts/messages.tsx';
import { useDebounced } from '../parts/time.tsx';
import { Dot } from '../parts/badges.tsx';
import { failureOf } from '../view/failures.ts';
import { levels, toLogLine, mergeLines, maxLines, loggerNamesOf, matchesFilter } from '../view/log-lines.ts';
import type { Level } from '../view/log-lines.ts';
import { formatCount } from '../view/quantities.ts';
import { LogList } from './log-list.tsx';
import { useLogTail } from './log-tail.ts';
import { useMachine } from './machine-query.ts';
import { MachineIcon } from '../parts/icons.tsx';

const pageSize = 200n;
const settleMs = 300;
const noLevels: ReadonlySet<Level> = new Set();

/** LOGS: lines of agent and server; older ones by page, new ones live. */
export function LogsTab() {
  const partId = useMachine().data?.machine?.partId;
  return partId === undefined ? <Loading /> : <Logs partId={partId} />;
}

function Logs({ partId }: { partId: string }) {
  const transport = useTransport();
  const searchField = useId();
  const [hidden, setHidden] = useState(noLevels);
  const [search, setSearch] = useState('');
  const settled = useDebounced(search.trim(), settleMs);
  const shown = levels.filter((level) => !hidden.has(level));

  const history = useInfiniteQuery({
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
  const tail = useLogTail(partId);
  const { refetch } = history;
  useEffect(() => {
    // Fetches the lines from before the stream opened, or from between two streams.
    if (tail.isLive) void refetch();
  }, [tail.isLive, refetch]);

  const past = history.data?.pages;
  const lines = useMemo(() => {
    const old = (past ?? []).flatMap((page) => page.logs.map(toLogLine));
    return mergeLines(mergeLines([], old), tail.lines).filter((line) =>
      matchesFilter(line, { levels: new Set(shown), text: search }),
    );
  }, [past, tail.lines, hidden, search]);

  const toggle = (level: Level): void =>
    setHidden((now) => (now.has(level) ? new Set([...now].filter((one) => one !== level)) : new Set([...now, level])));
  const isFull = lines.length >= maxLines;
  const older =
    history.hasNextPage && !isFull ? (
      <button
        type="button"
        className="button button-small"
        disabled={history.isFetchingNextPage}
        onClick={() => void history.fetchNextPage()}
      >
        {history.isFetchingNextPage ? 'Loading …' : 'Load older lines'}
      </button>
    ) : (
      lines.length > 0 && (
        <span className="soft small">{isFull ? `The newest ${maxLines} lines` : 'The first line there is'}</span>
      )
    );

  return (
    <div className="stack">
      <div className="log-bar">
        <fieldset className="row log-levels">
          <legend className="hidden-text">Levels</legend>
          {levels.map((level) => (
            <label key={level} className="choice">
              <input type="checkbox" checked={!hidden.has(level)} onChange={() => toggle(level)} />
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
            onChange={(event) => setSearch(event.target.value)}
          />
        </div>
        <button type="button" className="button" aria-pressed={tail.isPaused} onClick={tail.toggle}>
          {tail.isPaused ? <PlayIcon /> : <PauseIcon />}
          {tail.isPaused ? 'Go on' : 'Pause'}
        </button>
      </div>
      {history.error && <FailureNote error={history.error} />}
      {tail.error !== undefined && failureOf(tail.error).code !== 'UNAVAILABLE' && <FailureNote error={tail.error} />}
      <div className="row small soft" role="status">
        <Dot tone={tail.isPaused ? 'warn' : tail.isLive ? 'good' : 'quiet'} />
        <span>
          {tail.isPaused
            ? `Paused, ${formatCount(tail.waiting, 'new line')} waiting`
            : tail.isLive
              ? 'Live'
              : 'Connecting …'}
        </span>
        <span className="push">{formatCount(lines.length, 'line')}</span>
      </div>
      {history.isPending ? (
        <Loading />
      ) : lines.length === 0 ? (
        <div className="card">
          <EmptyState
            icon={<MachineIcon />}
            title={search !== '' || hidden.size > 0 ? 'No line passes the filter' : 'No log lines yet'}
          >
            <p>
              {search !== '' || hidden.size > 0
                ? 'Show more levels or search for another text. New lines appear automatically.'
                : 'Lines of the agent and of the machine server appear here as soon as the machine is online. Lines from a time offline come later, in order.'}
            </p>
          </EmptyState>
        </div>
      ) : (
        <LogList lines={lines} isFollowing={!tail.isPaused} older={older} />
      )}
    </div>
  );
}
