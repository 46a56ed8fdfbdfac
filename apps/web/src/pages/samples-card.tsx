import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { useQuery } from '@connectrpc/connect-query';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { useState } from 'react';
import { SampleChartFigure } from '../charts/sample-chart.tsx';
import { FailureNote } from '../parts/messages.tsx';
import { Ago, useNow } from '../parts/time.tsx';
import { sampleCharts } from '../view/samples.ts';
import { msOf, spanOf } from '../view/times.ts';

const dayMs = 24 * 3_600_000;
const spans = [
  ['Day', 1],
  ['Week', 7],
] as const;
/** Samples arrive in groups of some minutes. */
const refreshMs = 60_000;
/** About as many as a small chart has pixels. */
const mostPoints = 300;

/** What a machine used over the last day or week; nothing before its first samples. */
export function SamplesCard({ partId }: { partId: string }) {
  const [days, setDays] = useState(1);
  // The span moves on with each minute, and with it the query.
  const until = Math.ceil(useNow() / refreshMs) * refreshMs;
  const from = until - days * dayMs;
  const query = useQuery(
    FleetService.method.getMachineSamples,
    { partId, from: timestampFromMs(from), until: timestampFromMs(until), most: mostPoints },
    { placeholderData: (before) => before },
  );
  const samples = query.data?.samples ?? [];
  const charts = sampleCharts(samples, { from, until, intervalMs: spanOf(query.data?.interval) });
  if (query.error) return <FailureNote error={query.error} />;
  if (charts.length === 0 && days === 1) return null;
  return (
    <section className="card" aria-label="Use">
      <div className="card-head">
        <h2>Use</h2>
        <span className="row">
          <span className="soft small">
            newest <Ago at={msOf(samples.at(-1)?.time)} />
          </span>
          {spans.map(([text, count]) => (
            <button
              key={text}
              type="button"
              className="button button-small"
              aria-pressed={days === count}
              onClick={() => setDays(count)}
            >
              {text}
            </button>
          ))}
        </span>
      </div>
      <div className="card-body">
        {charts.length === 0 && <p className="soft">No samples.</p>}
        <div className="sample-charts">
          {charts.map((chart) => (
            <SampleChartFigure key={chart.title} chart={chart} />
          ))}
        </div>
      </div>
    </section>
  );
}
