import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { useQuery } from '@connectrpc/connect-query';
import { LogService, type LogCount } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import type { LogLevel } from '@platform/contract/logs/levels';
import { useRef, useState, type PointerEvent } from 'react';
import type { Gap } from './log-rows.ts';
import { type Bar, draggedSpan, rulerPaths, type RulerSpan, rulerTicks, stacked, topOf } from './log-ruler.ts';
import type { LogZone } from './log-zone.ts';
import { NextTask } from '../../ui/next-task.tsx';
import { formatCount, formatGrouped } from '../../ui/quantities.ts';
import { msOf, span as spanText, spanOf } from '../../ui/times.ts';

const [width, height] = [1_000, 80];
const mostBars = 120;
const mostTicks = 7;

const amounts = (count: LogCount | undefined): Record<LogLevel, number> => ({
  error: Number(count?.error ?? 0n),
  warn: Number(count?.warn ?? 0n),
  info: Number(count?.info ?? 0n),
  debug: Number(count?.debug ?? 0n),
});

export interface LogCounts {
  bars: readonly Bar[];
  intervalMs: number;
  total: Record<LogLevel, number>;
  span: RulerSpan;
  error: unknown;
  isLoading: boolean;
}

/** Counts of the lines of a query, all levels included, so that the buttons of the levels can show theirs. */
export function useLogCounts(of: {
  partIds: readonly string[];
  query: string;
  span: RulerSpan;
  isEnabled: boolean;
}): LogCounts {
  const { partIds, query, span, isEnabled } = of;
  const found = useQuery(
    LogService.method.countLogs,
    {
      partIds: [...partIds],
      query,
      from: timestampFromMs(span.from),
      until: timestampFromMs(span.until),
      most: mostBars,
    },
    // While another time loads, the bars of the one before stay.
    { enabled: isEnabled, placeholderData: (before) => before, staleTime: Infinity, gcTime: 0 },
  );
  const counts = isEnabled ? found.data : undefined;
  return {
    bars: (counts?.counts ?? []).map((count) => ({ start: msOf(count.start) ?? 0, counts: amounts(count) })),
    intervalMs: spanOf(counts?.interval) ?? 1_000,
    total: amounts(counts?.total),
    span,
    error: (isEnabled ? found.error : null) ?? undefined,
    isLoading: found.isPending,
  };
}

/** Labels further to the right do not fit: on wide screens they stand left of their mark, narrow ones show only the mark. */
const lastShare = { wide: 0.92, narrow: 0.8 };
const placeOfTick = (share: number) =>
  share > lastShare.wide
    ? { className: 'log-tick-last', style: { insetInlineEnd: `${(1 - share) * 100}%` } }
    : { className: share > lastShare.narrow ? 'log-tick-late' : '', style: { insetInlineStart: `${share * 100}%` } };

interface RulerProps {
  counts: LogCounts;
  shown: readonly LogLevel[];
  zone: LogZone;
  gaps: readonly Gap[];
  /** What the list shows. */
  visible: RulerSpan | undefined;
  onSpan: (span: RulerSpan) => void;
  onJump: (at: number) => void;
}

const shareOf =
  ({ from, until }: RulerSpan) =>
  (at: number): number =>
    Math.min(1, Math.max(0, (at - from) / (until - from)));

/** Lines by time and level. A drag chooses a time, a click jumps to one. */
export const LogRuler = (props: RulerProps) => (
  <NextTask instead={<RulerPlace />}>
    <Ruler {...props} />
  </NextTask>
);

function Ruler(props: RulerProps) {
  const { counts, shown, zone } = props;
  const { span, intervalMs, total, bars } = counts;
  const share = shareOf(span);
  const sum = shown.reduce((all, level) => all + total[level], 0);
  return (
    <figure className="card log-ruler" aria-label="Lines by time">
      <figcaption className="row small soft">
        <span>
          {formatCount(sum, 'line')} in {spanText(span.until - span.from)}
        </span>
        <span className="push">
          a bar is {spanText(intervalMs)}, the top {formatGrouped(topOf(bars, shown))}
        </span>
      </figcaption>
      <RulerField {...props} />
      <div className="log-ruler-axis small soft" aria-hidden="true">
        {rulerTicks(span, mostTicks, zone.offsetAt).map((at) => (
          <span key={at} {...placeOfTick(share(at))}>
            {zone.tick(at)}
          </span>
        ))}
      </div>
    </figure>
  );
}

/** Holds the place of the ruler. */
const RulerPlace = () => (
  <div className="card log-ruler">
    <div className="row small">&nbsp;</div>
    <div className="log-ruler-field" />
    <div className="log-ruler-axis small" />
  </div>
);

function RulerField({ counts, shown, gaps, visible, onSpan, onJump }: RulerProps) {
  const field = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<readonly [number, number]>();
  const { span } = counts;
  const share = shareOf(span);
  const placeOf = ({ clientX }: PointerEvent): number => clientX - (field.current?.getBoundingClientRect().left ?? 0);
  const end = (event: PointerEvent): void => {
    if (!drag) return;
    const fieldWidth = Math.max(1, field.current?.clientWidth ?? 1);
    const chosen = draggedSpan(span, [drag[0], placeOf(event)], fieldWidth);
    setDrag(undefined);
    if (chosen) onSpan(chosen);
    else onJump(Math.round(span.from + (drag[0] / fieldWidth) * (span.until - span.from)));
  };
  return (
    <div
      className="log-ruler-field"
      ref={field}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag([placeOf(event), placeOf(event)]);
      }}
      onPointerMove={(event) => drag && setDrag([drag[0], placeOf(event)])}
      onPointerUp={end}
      onPointerCancel={() => setDrag(undefined)}
    >
      <Bars {...{ counts, shown, gaps }} />
      {visible && (
        <span
          className="log-ruler-visible"
          style={{
            insetInlineStart: `${share(visible.from) * 100}%`,
            inlineSize: `max(2px, ${(share(visible.until) - share(visible.from)) * 100}%)`,
          }}
        />
      )}
      {drag && (
        <span
          className="log-ruler-drag"
          style={{ insetInlineStart: Math.min(...drag), inlineSize: Math.abs(drag[0] - drag[1]) }}
        />
      )}
    </div>
  );
}

function Bars({ counts: { bars, span, intervalMs }, shown, gaps }: Pick<RulerProps, 'counts' | 'shown' | 'gaps'>) {
  const paths = rulerPaths(bars, { span, intervalMs, shown, width, height });
  const share = shareOf(span);
  return (
    <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
      {gaps.map(({ from, until }) => (
        <rect
          key={from}
          className="log-ruler-gap"
          x={share(from) * width}
          width={(share(until) - share(from)) * width}
          height={height}
        />
      ))}
      {stacked.map((level) => (
        <path key={level} className={`log-bar-${level}`} d={paths[level]} />
      ))}
    </svg>
  );
}
