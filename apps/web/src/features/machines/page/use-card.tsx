import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { LoadedLater } from '../../../ui/loaded-later.tsx';
import { FailureNote } from '../../../ui/messages.tsx';
import { Ago, useNow } from '../../../ui/time.tsx';
import { earlierTime, localClock, spanOf } from '../../../ui/times.ts';
import { newestPlace, sampleLines, valuesText, type SampleChart, type SampleLines } from './sample-lines.ts';
import { sampleRanges, sampleSpan, type SampleRange, type SampleSpan, type StorySearch } from './story-search.ts';
import { type BandKind, eventMarks, type EventMarks } from './timeline.ts';
import { useEvents } from './timeline-card.tsx';

/** Samples arrive in groups of some minutes. */
const refreshMs = 60_000;
/** About as many as a chart has pixels. */
const mostPoints = 300;

interface UseCardProps {
  machineId: string;
  partId: string;
  search: StorySearch;
}

/** What the machine used over the chosen time, as charts and as a table. */
export function UseCard({ machineId, partId, search }: UseCardProps) {
  const { range = '24h', events } = search;
  const { data: happened } = useEvents(partId, undefined);
  const step = Math.ceil(useNow() / refreshMs) * refreshMs;
  const span = useMemo(() => sampleSpan(range, step, refreshMs), [range, step]);
  const marked = useMemo(
    () => eventMarks(happened?.pages.flatMap((page) => page.events) ?? [], step),
    [happened, step],
  );
  const { data, error } = useQuery(
    FleetService.method.getMachineSamples,
    { partId, from: timestampFromMs(span.from), until: timestampFromMs(span.until), most: mostPoints },
    { placeholderData: (before) => before },
  );
  const lines = useMemo(() => sampleLines(data?.samples ?? [], spanOf(data?.interval)), [data]);
  return (
    <section className="card" aria-label="Use">
      <div className="card-head">
        <h2>Use</h2>
        <span className="soft small">
          {data && (
            <>
              newest <Ago at={lines.newest} otherwise="none in this time" />
            </>
          )}
        </span>
        <nav className="segments push" aria-label="Time">
          {(Object.keys(sampleRanges) as SampleRange[]).map((one) => (
            <Link
              key={one}
              to="/machines/$machineId/overview"
              params={{ machineId }}
              search={{ ...(one !== '24h' && { range: one }), ...(events && { events }) }}
              resetScroll={false}
              replace
              className="segment story-range"
              activeOptions={{ exact: true, includeSearch: true }}
            >
              {sampleRanges[one].title}
            </Link>
          ))}
        </nav>
      </div>
      {error && <FailureNote error={error} />}
      <div className="story-charts">
        {lines.charts.map((chart) => (
          <ChartFigure key={chart.key} chart={chart} times={lines.times} span={span} marked={marked} />
        ))}
      </div>
      <MarkKey />
      <UseTable lines={lines} />
    </section>
  );
}

const bandTitles: Readonly<Record<BandKind, string>> = {
  offline: 'offline',
  unknown: 'not known',
  unmeasured: 'nothing measured',
};

/** What the marks of the charts mean. */
const MarkKey = () => (
  <p className="story-key soft small">
    {(['restart', 'update', 'revision', 'condition'] as const).map((kind) => (
      <span key={kind}>
        <span className={`story-mark story-mark-${kind}`} aria-hidden="true" /> {kind}
      </span>
    ))}
    {(Object.keys(bandTitles) as BandKind[]).map((kind) => (
      <span key={kind}>
        <span className={`story-band story-band-${kind}`} aria-hidden="true" /> {bandTitles[kind]}
      </span>
    ))}
  </p>
);

interface FigureProps {
  chart: SampleChart;
  times: readonly number[];
  span: SampleSpan;
  marked: EventMarks;
}

/** A chart under its name and its newest value, or those at the pointer. It keeps its place while it loads. */
function ChartFigure({ chart, times, span, marked }: FigureProps) {
  const [pointed, setPointed] = useState<number>();
  const place = pointed ?? newestPlace(chart);
  const time = times[place];
  return (
    <figure className="story-chart">
      <figcaption>
        <h3>
          {chart.title} <small className="soft">{chart.unit}</small>
        </h3>
        <strong className="numbers" aria-hidden="true">
          {time === undefined ? '–' : <ShownValues chart={chart} place={place} />}
          {pointed !== undefined && time !== undefined && (
            <span className="soft"> at {localClock(time * 1000).slice(0, 5)}</span>
          )}
        </strong>
      </figcaption>
      <LoadedLater name="charts of use" load={() => import('./sample-plot.tsx')} className="story-plot">
        {({ SamplePlot }) => (
          <SamplePlot chart={chart} times={times} span={span} marked={marked} onPoint={setPointed} />
        )}
      </LoadedLater>
    </figure>
  );
}

/** As valuesText, each value in the look of its line. */
const ShownValues = ({ chart, place }: { chart: SampleChart; place: number }) =>
  chart.lines.length === 1
    ? valuesText(chart, place)
    : chart.lines.map((line, at) => (
        <span key={line.name} className={`story-line story-line-${at}`}>
          {valuesText({ ...chart, lines: [line] }, place)}
        </span>
      ));

/** The same values for readers and the keyboard; made only while it is open. */
function UseTable({ lines }: { lines: SampleLines }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="story-values" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="small">Values as a table</summary>
      {isOpen && (
        <div className="story-values-rows" tabIndex={0} role="region" aria-label="Values">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                {lines.charts.map(({ key, title }) => (
                  <th key={key} scope="col">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              <ValueRows lines={lines} />
            </tbody>
          </table>
        </div>
      )}
    </details>
  );
}

function ValueRows({ lines: { times, charts } }: { lines: SampleLines }) {
  const now = useNow();
  return times
    .map((time, place) => (
      <tr key={time}>
        <th scope="row" className="no-wrap">
          {earlierTime(time * 1000, now)}
        </th>
        {charts.map((chart) => (
          <td key={chart.key} className="no-wrap numbers">
            {valuesText(chart, place)}
          </td>
        ))}
      </tr>
    ))
    .toReversed();
}
