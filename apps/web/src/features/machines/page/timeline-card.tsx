import { useInfiniteQuery } from '@connectrpc/connect-query';
import { TimelineService } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Card } from '../../../ui/layout.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { useNow } from '../../../ui/time.tsx';
import { UserText } from '../../../ui/isolated-text.tsx';
import { bothMoments } from '../../../ui/times.ts';
import type { StorySearch } from './story-search.ts';
import { eventTitles, type EventKindName } from './timeline-kinds.ts';
import { eventDays, type EventRow, wireKinds } from './timeline.ts';

const refreshMs = 15_000;
const pageSize = 30;
/** About as many as stand beside the rest of the page. */
const mostAtFirst = 15;

interface TimelineProps {
  machineId: string;
  partId: string;
  search: StorySearch;
}

/** The events of a machine; the newest page is fetched again regularly. */
export const useEvents = (partId: string, kind: EventKindName | undefined) =>
  useInfiniteQuery(
    TimelineService.method.listMachineEvents,
    { partId, kinds: kind === undefined ? [] : [wireKinds[kind]], pageSize, pageToken: '' },
    {
      pageParamKey: 'pageToken',
      getNextPageParam: ({ nextPageToken }) => nextPageToken || undefined,
      // All loaded pages are fetched again: the more there are, the more rarely.
      refetchInterval: ({ state }) => refreshMs * Math.max(1, state.data?.pages.length ?? 1),
    },
  );

/** What happened to the machine, newest first, by day; filtered by kind. */
export function TimelineCard({ machineId, partId, search }: TimelineProps) {
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useEvents(partId, search.events);
  const now = useNow();
  const [most, setMost] = useState(mostAtFirst);
  const events = data?.pages.flatMap((page) => page.events) ?? [];
  const days = eventDays(events.slice(0, most), now);
  const showOlder = (): void => {
    setMost(most + pageSize);
    if (hasNextPage && events.length < most + pageSize) void fetchNextPage();
  };
  return (
    <Card title="Time line" className="story-timeline">
      <KindLinks machineId={machineId} search={search} />
      {error && <FailureNote error={error} />}
      <ol className="story-events" aria-busy={data === undefined}>
        {days.map(({ title, rows }) => (
          <li key={title}>
            <h3>{title}</h3>
            <ol>
              {rows.map((row) => (
                <EventLine key={row.key} row={row} machineId={machineId} />
              ))}
            </ol>
          </li>
        ))}
      </ol>
      {data && days.length === 0 && <p className="soft story-none">No event is known.</p>}
      {(hasNextPage || events.length > most) && (
        <button
          type="button"
          className="button button-small button-quiet story-older"
          disabled={isFetchingNextPage}
          onClick={showOlder}
        >
          Older
        </button>
      )}
    </Card>
  );
}

const KindLinks = ({ machineId, search: { range } }: { machineId: string; search: StorySearch }) => (
  <nav className="story-kinds" aria-label="Kinds of events">
    {([undefined, ...Object.keys(eventTitles)] as (EventKindName | undefined)[]).map((one) => (
      <Link
        key={one ?? ''}
        to="/machines/$machineId/overview"
        params={{ machineId }}
        search={{ ...(range && { range }), ...(one && { events: one }) }}
        replace
        resetScroll={false}
        className="story-kind"
        activeOptions={{ exact: true, includeSearch: true }}
      >
        {one === undefined ? 'All' : eventTitles[one]}
      </Link>
    ))}
  </nav>
);

const EventLine = ({ row, machineId }: { row: EventRow; machineId: string }) => (
  <li className="story-event">
    <time title={bothMoments(row.at)} className="soft numbers">
      {row.clock}
    </time>
    <span className={`story-mark story-mark-${row.kind} story-tone-${row.tone}`} aria-hidden="true" />
    <div className="break">
      {row.revision > 0n ? (
        <Link to="/machines/$machineId/revisions" params={{ machineId }}>
          <UserText text={row.text} />
        </Link>
      ) : (
        <UserText text={row.text} />
      )}
      {row.tone === 'bad' && <span className="hidden-text"> (error)</span>}
      {(row.actor !== '' || row.detail !== '') && (
        <p className="soft small">
          {row.actor !== '' && <UserText text={row.actor} />}
          {row.actor !== '' && row.detail !== '' && ': '}
          <UserText text={row.detail} />
        </p>
      )}
    </div>
  </li>
);
