import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { createQueryOptions, useTransport } from '@connectrpc/connect-query';
import { FleetService, type GetMachineSamplesResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { type LogTerm, parseLogQuery } from '@platform/contract/logs/query';
import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react';
import { Dot } from '../../ui/badges.tsx';
import { CopyButton } from '../../ui/copying.tsx';
import { MachineIcon } from '../../ui/icons.tsx';
import { EmptyState, FailureNote, Loading } from '../../ui/messages.tsx';
import { NextTask } from '../../ui/next-task.tsx';
import { useDebounced, useNow } from '../../ui/time.tsx';
import { failureOf } from '../../ui/failures.ts';
import { type Gap, gapsOf, type LogRow, logRows, type PartGaps } from './log-rows.ts';
import type { RulerSpan } from './log-ruler.ts';
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
} from './log-search.ts';
import type { PlacedLine } from './log-window.ts';
import { formatCount } from '../../ui/quantities.ts';
import { msOf, spanOf } from '../../ui/times.ts';
import { LogBar, zoneOf } from './log-bar.tsx';
import { LogContext } from './log-context.tsx';
import { LogDownload } from './download-menu.tsx';
import { LogList } from './log-list.tsx';
import { type LogMachine, LogMachines } from './log-machines.ts';
import { OpenLine } from './log-row.tsx';
import { LogRuler, useLogCounts } from './ruler.tsx';
import { type LogSource, type LogWindowState, useLogWindow } from './log-window-query.ts';
import { useMachine } from '../../entities/machine/machine-query.ts';
import '../../ui/style/logs.css';

const route = getRouteApi('/machines/$machineId/logs');
const settleMs = 300;
/** The ruler of a time up to now moves on so often. */
const rulerMs = 30_000;
const longestGapsMs = 31 * 24 * 3_600_000;
const noGaps: PartGaps = new Map();

/** LOGS: lines of agent and server by time. */
export function LogsTab() {
  const machine = useMachine().data?.machine;
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const write = useCallback<WriteSearch>(
    (next, replace = false) => void navigate({ search: next, replace, resetScroll: false }),
    [navigate],
  );
  if (machine === undefined) return <Loading />;
  const { id, partId, name, report } = machine;
  const timeZone = report?.facts?.timeZone || undefined;
  return (
    <NextTask instead={<Loading />}>
      <Logs
        machines={[{ id, partId, name, timeZone }]}
        search={search}
        write={write}
        beside={
          <Link to="/machines/logs" search={{ ...search, ids: id }} className="button button-small">
            With other machines
          </Link>
        }
      />
    </NextTask>
  );
}

export type WriteSearch = (search: LogSearch, replace?: boolean) => void;

/** The query that the user types, beside that of the URL. */
function useTypedQuery(search: LogSearch, write: WriteSearch) {
  const query = search.q ?? '';
  const [typed, setTyped] = useState(query);
  const [known, setKnown] = useState({ query, written: query });
  const settled = useDebounced(typed, settleMs).trim();
  // Another query in the URL than the user typed comes from a link or "back".
  if (known.query !== query) {
    setKnown({ ...known, query });
    if (query !== known.written) setTyped(query);
  }
  useEffect(() => {
    if (settled === query) return;
    setKnown((before) => ({ ...before, written: settled }));
    const rest = without(search, ['q']);
    // One entry in the history for all letters of a query.
    write(settled === '' ? rest : { ...rest, q: settled }, true);
  }, [settled, write]);
  return { typed, setTyped };
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
function useGaps(partIds: readonly string[], { from, until }: RulerSpan): PartGaps {
  const transport = useTransport();
  const isShort = until - from <= longestGapsMs;
  return useQueries({
    queries: partIds.map((partId) => ({
      ...createQueryOptions(
        FleetService.method.getMachineSamples,
        { partId, from: timestampFromMs(from), until: timestampFromMs(until) },
        { transport },
      ),
      enabled: isShort,
      staleTime: Infinity,
      placeholderData: keepPreviousData,
    })),
    // The same map while the answers are the same.
    combine: useCallback(
      (found: readonly { data?: GetMachineSamplesResponse | undefined }[]): PartGaps =>
        new Map(found.map(({ data }, index) => [partIds[index] ?? '', data ? sampleGaps(data) : []])),
      [partIds],
    ),
  });
}

const sampleGaps = ({ samples, interval }: GetMachineSamplesResponse): readonly Gap[] =>
  gapsOf(
    samples.flatMap(({ time }) => msOf(time) ?? []),
    spanOf(interval),
  );

/** The moment around which lines are loaded: that of the URL, unless it is only that of a line that the user opens. */
function usePlace(at: number | undefined) {
  const [opened, setOpened] = useState<number>();
  const [place, setPlace] = useState({ seen: at, at });
  if (place.seen !== at) setPlace({ seen: at, at: at === opened ? place.at : at });
  return { at: place.at, setOpened };
}

/** What the page shows for the URL. */
function useShownLogs(partIds: readonly string[], search: LogSearch, timeZone: string | undefined) {
  const zone = zoneOf(search, timeZone);
  const parsed = useMemo(() => parseLogQuery(search.q ?? ''), [search.q]);
  const isEnabled = !parsed.problem;
  const words = useMemo(() => (parsed.problem ? [] : wordsOf(parsed.terms)), [parsed]);
  // A new choice of the range counts from now on.
  const loadedOn = useMoment(search.range ?? '');
  const rulerOn = Math.ceil(useNow() / rulerMs) * rulerMs;
  const span = useMemo(() => listSpan(search, loadedOn), [search.range, search.from, search.until, loadedOn]);
  const { at, setOpened } = usePlace(search.at);
  const source: LogSource = { partIds, query: listQuery(search), span, at, isEnabled };
  const state = useLogWindow(source);
  const ruler = rulerSpan({ ...atEnd(search), ...(at !== undefined && { at }) }, rulerOn);
  const counts = useLogCounts({ partIds, query: search.q ?? '', span: ruler, isEnabled });
  const gaps = useGaps(partIds, ruler);
  const { lines } = state.window;
  const isWhole = listQuery(search) === '';
  const rows = useMemo(
    () => logRows(lines, { dayOf: zone.dayOf, gaps: isWhole ? gaps : noGaps, showsStarts: isWhole }),
    [lines, zone, gaps, isWhole],
  );
  return { zone, problem: parsed.problem, words, source, state, counts, gaps, rows, setOpened };
}

interface LogsProps {
  /** One to eight. */
  machines: readonly LogMachine[];
  search: LogSearch;
  write: WriteSearch;
  /** Beside what the list says of itself. */
  beside?: ReactNode;
}

/** The lines of machines on one axis of time. */
export function Logs({ machines, search, write, beside }: LogsProps) {
  const { typed, setTyped } = useTypedQuery(search, write);
  const parts = machines.map(({ partId }) => partId).join(' ');
  const partIds = useMemo(() => parts.split(' '), [parts]);
  const timeZone = machines.length === 1 ? machines[0]?.timeZone : undefined;
  const shown = useShownLogs(partIds, search, timeZone);
  const { state, counts, zone, problem } = shown;
  const [visible, setVisible] = useState<RulerSpan>();
  const [only, ...others] = machines;
  const name = others.length === 0 ? (only?.name ?? '') : `${machines.length} machines`;
  return (
    <LogMachines value={others.length === 0 ? undefined : machines}>
      <div className={others.length === 0 ? 'stack' : 'stack log-several'}>
        <LogBar
          {...{ search, typed, setTyped, problem, zone, timeZone }}
          totals={problem || counts.isLoading ? undefined : counts.total}
          onSearch={write}
        />
        {counts.error !== undefined && state.error === undefined && <FailureNote error={counts.error} />}
        <LogRuler
          {...{ counts, zone, visible }}
          gaps={(others.length === 0 && shown.gaps.get(partIds[0] ?? '')) || []}
          shown={shownLevels(search)}
          onSpan={(chosen) => write(withSpan(search, chosen))}
          onJump={(at) => write({ ...withoutLine(search), at })}
        />
        <div className="row">
          <ListState state={state} />
          <LogDownload source={shown.source} name={name} />
          {beside}
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
    </LogMachines>
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
  write: WriteSearch;
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
      {isAround && <LogContext partIds={source.partIds} line={line} zone={zone} />}
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
