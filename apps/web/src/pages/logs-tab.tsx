import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { type LogTerm, parseLogQuery } from '@platform/contract/log-query';
import { getRouteApi } from '@tanstack/react-router';
import { useCallback, useEffect, useMemo, useState } from 'react';
import { Dot } from '../parts/badges.tsx';
import { CopyButton } from '../parts/copying.tsx';
import { MachineIcon } from '../parts/icons.tsx';
import { EmptyState, FailureNote, Loading } from '../parts/messages.tsx';
import { useDebounced, useNow } from '../parts/time.tsx';
import { failureOf } from '../view/failures.ts';
import { gapsOf, type LogRow, logRows } from '../view/log-rows.ts';
import type { RulerSpan } from '../view/log-ruler.ts';
import {
  atEnd,
  listQuery,
  listSpan,
  type LogSearch,
  rulerSpan,
  shownLevels,
  without,
  withoutLine,
  withSpan,
} from '../view/log-search.ts';
import type { PlacedLine } from '../view/log-window.ts';
import { formatCount } from '../view/quantities.ts';
import { msOf, spanOf } from '../view/times.ts';
import { LogBar, zoneOf } from './log-bar.tsx';
import { LogContext } from './log-context.tsx';
import { LogDownload } from './log-download.tsx';
import { LogList } from './log-list.tsx';
import { OpenLine } from './log-row.tsx';
import { LogRuler, useLogCounts } from './log-ruler.tsx';
import { type LogSource, type LogWindowState, useLogWindow } from './log-window-query.ts';
import { useMachine } from './machine-query.ts';
import '../style/logs.css';

const route = getRouteApi('/machines/$machineId/logs');
const settleMs = 300;
/** The ruler of a time up to now moves on so often. */
const rulerMs = 30_000;
const longestGapsMs = 31 * 24 * 3_600_000;
const none: readonly never[] = [];

/** LOGS: lines of agent and server by time. */
export function LogsTab() {
  const machine = useMachine().data?.machine;
  return machine === undefined ? <Loading /> : <Logs partId={machine.partId} name={machine.name} />;
}

/** The query that the user types, and the rest of the URL. */
function useLogSearch() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const query = search.q ?? '';
  const [typed, setTyped] = useState(query);
  const [known, setKnown] = useState({ query, written: query });
  const settled = useDebounced(typed, settleMs).trim();
  // Another query in the URL than the user typed comes from a link or "back".
  if (known.query !== query) {
    setKnown({ ...known, query });
    if (query !== known.written) setTyped(query);
  }
  const write = useCallback(
    (next: LogSearch, replace = false): void => void navigate({ search: next, replace, resetScroll: false }),
    [navigate],
  );
  useEffect(() => {
    if (settled === query) return;
    setKnown((before) => ({ ...before, written: settled }));
    const rest = without(search, ['q']);
    // One entry in the history for all letters of a query.
    write(settled === '' ? rest : { ...rest, q: settled }, true);
  }, [settled, write]);
  return { search, typed, setTyped, write };
}

const wordsOf = (terms: readonly LogTerm[]): string[] =>
  terms.flatMap((term) => (term.is === 'text' && !term.isNegated ? [term.text] : []));

/** A moment that moves on only now and then, so that requests are the same until then. */
function useMoment(key: string): number {
  const now = useNow();
  const rounded = Math.ceil(now / rulerMs) * rulerMs;
  const [moment, setMoment] = useState({ key, at: rounded });
  if (moment.key !== key) setMoment({ key, at: rounded });
  return moment.key === key ? moment.at : rounded;
}

/** Times without measurements between those of the list and the ruler. */
function useGaps(partId: string, { from, until }: RulerSpan) {
  const isShort = until - from <= longestGapsMs;
  const { data } = useQuery(
    FleetService.method.getMachineSamples,
    { partId, from: timestampFromMs(from), until: timestampFromMs(until) },
    { enabled: isShort, staleTime: Infinity, placeholderData: (before) => before },
  );
  return useMemo(
    () =>
      gapsOf(
        (data?.samples ?? []).flatMap(({ time }) => msOf(time) ?? []),
        spanOf(data?.interval),
      ),
    [data],
  );
}

/** The moment around which lines are loaded: that of the URL, unless it is only that of a line that the user opens. */
function usePlace(at: number | undefined) {
  const [opened, setOpened] = useState<number>();
  const [place, setPlace] = useState({ seen: at, at });
  if (place.seen !== at) setPlace({ seen: at, at: at === opened ? place.at : at });
  return { at: place.at, setOpened };
}

/** What the page shows for the URL. */
function useShownLogs(partId: string, search: LogSearch) {
  const zone = zoneOf(search);
  const parsed = useMemo(() => parseLogQuery(search.q ?? ''), [search.q]);
  const isEnabled = !parsed.problem;
  const words = useMemo(() => (parsed.problem ? [] : wordsOf(parsed.terms)), [parsed]);
  // A new choice of the range counts from now on.
  const loadedOn = useMoment(search.range ?? '');
  const rulerOn = Math.ceil(useNow() / rulerMs) * rulerMs;
  const span = useMemo(() => listSpan(search, loadedOn), [search.range, search.from, search.until, loadedOn]);
  const { at, setOpened } = usePlace(search.at);
  const source: LogSource = { partId, query: listQuery(search), span, at, isEnabled };
  const state = useLogWindow(source);
  const ruler = rulerSpan({ ...atEnd(search), ...(at !== undefined && { at }) }, rulerOn);
  const counts = useLogCounts({ partId, query: search.q ?? '', span: ruler, isEnabled });
  const gaps = useGaps(partId, ruler);
  const { lines } = state.window;
  const isWhole = listQuery(search) === '';
  const rows = useMemo(
    () => logRows(lines, { dayOf: zone.dayOf, gaps: isWhole ? gaps : none, showsStarts: isWhole }),
    [lines, zone, gaps, isWhole],
  );
  return { zone, problem: parsed.problem, words, source, state, counts, gaps, rows, setOpened };
}

function Logs({ partId, name }: { partId: string; name: string }) {
  const { search, typed, setTyped, write } = useLogSearch();
  const shown = useShownLogs(partId, search);
  const { state, counts, zone, problem } = shown;
  const [visible, setVisible] = useState<RulerSpan>();
  return (
    <div className="stack">
      <LogBar
        {...{ search, typed, setTyped, problem, zone }}
        totals={problem ? undefined : counts.total}
        onSearch={write}
      />
      {counts.error !== undefined && state.error === undefined && <FailureNote error={counts.error} />}
      <LogRuler
        {...{ counts, zone, visible }}
        gaps={shown.gaps}
        shown={shownLevels(search)}
        onSpan={(chosen) => write(withSpan(search, chosen))}
        onJump={(at) => write({ ...withoutLine(search), at })}
      />
      <div className="row">
        <ListState state={state} />
        <LogDownload source={shown.source} name={name} />
      </div>
      {state.error !== undefined && failureOf(state.error).code !== 'UNAVAILABLE' && (
        <FailureNote
          error={state.error}
          action={
            <button type="button" className="button button-small" onClick={state.reload}>
              Try again
            </button>
          }
        />
      )}
      <Lines {...{ shown, search, write, setVisible }} />
    </div>
  );
}

const ListState = ({ state }: { state: LogWindowState }) => (
  <div className="row small soft" role="status">
    <Dot tone={state.isLive ? 'good' : 'quiet'} />
    <span>{state.isLoading ? 'Loading …' : state.isLive ? 'Live' : 'Not live'}</span>
    <span>{formatCount(state.window.lines.length, 'line')} loaded</span>
  </div>
);

interface LinesProps {
  shown: ReturnType<typeof useShownLogs>;
  search: LogSearch;
  write: (search: LogSearch, replace?: boolean) => void;
  setVisible: (span: RulerSpan) => void;
}

function Lines(props: LinesProps) {
  const { shown, search, write, setVisible } = props;
  const { state, rows, words, zone, source, setOpened } = shown;
  const { at } = source;
  const { line } = search;
  const setOpen = (one: PlacedLine): void => {
    if (line === one.key) return write(withoutLine(search), true);
    setOpened(one.time);
    write({ ...search, at: one.time, line: one.key }, true);
  };
  if (shown.problem)
    return <NoLines title="No lines are shown" text="The query has an error: correct the marked word." />;
  if (rows.length === 0)
    return state.isLoading || state.error !== undefined ? (
      state.error === undefined && <Loading />
    ) : (
      <NoLines {...emptyText(search)} />
    );
  return (
    <LogList
      // A list at another place is another list.
      key={at ?? 'end'}
      rows={rows}
      words={words}
      zone={zone}
      isOpenEnded={source.span.until === undefined}
      hasNewer={state.window.hasNewer}
      start={at === undefined ? undefined : search.at === at && line !== undefined ? line : nearestKey(rows, at)}
      open={line}
      onOpen={setOpen}
      onEdge={state.load}
      onNewest={() => (at === undefined && !state.window.hasNewer ? undefined : write(atEnd(search), true))}
      onVisible={setVisible}
      openLine={(one) => <OpenedLine {...props} line={one} />}
    />
  );
}

/** The key of the first line at or after a moment, otherwise of the last one. */
function nearestKey(rows: readonly LogRow[], at: number): string | undefined {
  const lines = rows.filter((row) => row.is === 'line');
  return (lines.find((row) => row.line.time >= at) ?? lines.at(-1))?.key;
}

function OpenedLine({ line, search, write, shown: { zone, source } }: LinesProps & { line: PlacedLine }) {
  const [isAround, setAround] = useState(false);
  const only = (word: string): void => {
    write({ ...atEnd(search), q: `${search.q ?? ''} ${word}`.trim() });
  };
  return (
    <OpenLine
      line={line}
      actions={
        <>
          <CopyButton text={window.location.href} label="Copy the link to this line" />
          <button
            type="button"
            className="button button-small"
            aria-pressed={isAround}
            onClick={() => setAround(!isAround)}
          >
            Lines around it
          </button>
          {line.logger !== '' && (
            <button
              type="button"
              className="button button-small"
              onClick={() => only(`logger="${line.logger.replaceAll('"', '\\"')}"`)}
            >
              Only this logger
            </button>
          )}
          {line.boot !== '' && (
            <button type="button" className="button button-small" onClick={() => only(`boot:${line.boot}`)}>
              Only this start
            </button>
          )}
        </>
      }
    >
      {isAround && <LogContext partId={source.partId} line={line} zone={zone} />}
    </OpenLine>
  );
}

function emptyText(search: LogSearch): { title: string; text: string } {
  const isFiltered = (search.q ?? '') !== '' || search.hide !== undefined;
  const isTime = search.range !== undefined || search.from !== undefined || search.until !== undefined;
  if (isFiltered)
    return {
      title: 'No line matches',
      text: isTime
        ? 'Choose a longer time, show more levels or search for another text. New lines appear by themselves.'
        : 'Show more levels or search for another text. New lines appear by themselves.',
    };
  if (isTime) return { title: 'No lines in this time', text: 'Choose a longer time, or all lines.' };
  return {
    title: 'No log lines yet',
    text: 'Lines of the agent and of the machine server appear here as soon as the machine is online. Lines from a time offline come later, at their times.',
  };
}

const NoLines = ({ title, text }: { title: string; text: string }) => (
  <div className="card">
    <EmptyState icon={<MachineIcon />} title={title}>
      <p>{text}</p>
    </EmptyState>
  </div>
);
