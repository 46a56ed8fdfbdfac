import { type LogLevel, logLevels } from '@platform/contract/logs/levels';
import type { QueryProblem } from '@platform/contract/text/query';
import { useState } from 'react';
import { useClock } from '../../ui/time.tsx';
import {
  type LogSearch,
  type Range,
  type Span,
  ranges,
  shownLevels,
  without,
  withoutLine,
  withSpan,
} from './log-search.ts';
import { localZone, type LogZone, machineZone, utcZone } from './log-zone.ts';
import { formatGrouped, formatShort } from '../../ui/quantities.ts';

const rangeNames: Readonly<Record<Range, string>> = {
  '15m': 'Last 15 minutes',
  '1h': 'Last hour',
  '6h': 'Last 6 hours',
  '1d': 'Last day',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
};

interface BarProps {
  search: LogSearch;
  typed: string;
  setTyped: (text: string) => void;
  problem: QueryProblem | undefined;
  totals: Record<LogLevel, number> | undefined;
  zone: LogZone;
  /** That of the one machine that is shown; undefined: it is not known. */
  timeZone: string | undefined;
  onSearch: (search: LogSearch) => void;
}

/** The query, the levels and the time. */
export function LogBar(props: BarProps) {
  const { search, typed, setTyped, problem } = props;
  return (
    <div className="stack-tight">
      <div className="log-search">
        <label className="hidden-text" htmlFor="log-query">
          Search
        </label>
        <input
          id="log-query"
          className="input mono"
          type="search"
          placeholder='"no such device" logger:front camera=front /try=\d+/'
          value={typed}
          autoComplete="off"
          spellCheck={false}
          aria-invalid={problem !== undefined}
          aria-describedby="log-query-hint"
          onChange={(event) => setTyped(event.target.value)}
        />
        <p id="log-query-hint" className={problem ? 'field-wrong' : 'hidden-text'}>
          {problem ? (
            <>
              <span className="mono break">
                {(search.q ?? '').slice(0, problem.start)}
                <mark>{(search.q ?? '').slice(problem.start, problem.end)}</mark>
                {(search.q ?? '').slice(problem.end)}
              </span>
              : {problem.problem}. Write {problem.instead}.
            </>
          ) : (
            'Words, "texts", /expressions/, level:error, logger:NAME, boot:ID and field=value; all have to hold.'
          )}
        </p>
      </div>
      <div className="log-bar">
        <Levels {...props} />
        <RangeFields {...props} />
      </div>
    </div>
  );
}

function Levels({ search, totals, onSearch }: BarProps) {
  const shown = shownLevels(search);
  const toggle = (level: LogLevel): void => {
    const rest = without(search, ['hide']);
    const hidden = logLevels.filter((one) => (one === level ? shown.includes(one) : !shown.includes(one)));
    onSearch(hidden.length === 0 || hidden.length === logLevels.length ? rest : { ...rest, hide: hidden.join(',') });
  };
  return (
    <fieldset className="row log-levels">
      <legend className="hidden-text">Levels</legend>
      {logLevels.map((level) => (
        <label key={level} className="choice">
          <input type="checkbox" checked={shown.includes(level)} onChange={() => toggle(level)} />
          <span className={`log-key log-bar-${level}`} aria-hidden="true" />
          {level}
          <span className="soft log-total" title={totals && formatGrouped(totals[level])}>
            {totals && formatShort(totals[level])}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

/** A time up to now, or one from a moment to another one; a jump to a moment. */
function RangeFields(props: BarProps) {
  const { search, zone, timeZone, onSearch } = props;
  const { from, until, at } = search;
  const change = (span: Span): void => {
    const next = { ...spanOf(search), ...span };
    if (next.from === undefined || next.until === undefined || next.from < next.until) onSearch(withSpan(search, next));
  };
  return (
    <div className="row log-times">
      <RangeChoice {...props} />
      {(from !== undefined || until !== undefined) && (
        <>
          <TimeField label="From" value={from} zone={zone} onChange={(next) => change({ from: next })} />
          <TimeField label="Until" value={until} zone={zone} onChange={(next) => change({ until: next })} />
        </>
      )}
      <TimeField
        label="Jump to"
        value={at}
        zone={zone}
        onChange={(next) => onSearch({ ...withoutLine(search), at: next })}
      />
      <label className="log-field">
        <span className="hidden-text">Zone</span>
        <select
          className="select"
          value={zone.is === 'mine' ? '' : zone.is}
          onChange={({ target: { value } }) => {
            const rest = without(search, ['zone']);
            onSearch(value === 'utc' || value === 'machine' ? { ...rest, zone: value } : rest);
          }}
        >
          <option value="">My time</option>
          {timeZone !== undefined && machineZone(timeZone) && <option value="machine">Machine: {timeZone}</option>}
          <option value="utc">UTC</option>
        </select>
      </label>
    </div>
  );
}

function RangeChoice({ search, onSearch }: BarProps) {
  const clock = useClock();
  const { range, from, until } = search;
  const choose = (value: string): void => {
    if (value === 'own') onSearch(withSpan(search, { from: clock.wall() - ranges['1h'], until: clock.wall() }));
    else onSearch(withSpan(search, value === '' ? {} : { range: value as Range }));
  };
  return (
    <label className="log-field">
      <span className="hidden-text">Time</span>
      <select
        className="select"
        value={range ?? (from === undefined && until === undefined ? '' : 'own')}
        onChange={({ target: { value } }) => choose(value)}
      >
        <option value="">All lines</option>
        {Object.entries(rangeNames).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
        <option value="own">From … until …</option>
      </select>
    </label>
  );
}

const spanOf = ({ from, until }: LogSearch) => ({
  ...(from !== undefined && { from }),
  ...(until !== undefined && { until }),
});

interface TimeProps {
  label: string;
  value: number | undefined;
  zone: LogZone;
  onChange: (at: number) => void;
}
/** Takes effect when the user leaves it or presses Enter: while he types, most times are not meant. */
function TimeField({ label, value, zone, onChange }: TimeProps) {
  const text = value === undefined ? '' : zone.toField(value);
  const [typed, setTyped] = useState(text);
  const [known, setKnown] = useState(text);
  if (known !== text) {
    setKnown(text);
    setTyped(text);
  }
  const leave = (): void => {
    const at = zone.fromField(typed);
    if (at === undefined || typed === text) setTyped(text);
    else onChange(at);
  };
  return (
    <label className="log-field">
      <span className="small soft">{label}</span>
      <input
        className="input"
        type="datetime-local"
        step={1}
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        onBlur={leave}
        onKeyDown={({ key }) => key === 'Enter' && leave()}
      />
    </label>
  );
}

/** @param timeZone - that of the machine; without it, times are those of the reader. */
export function zoneOf({ zone }: LogSearch, timeZone: string | undefined): LogZone {
  if (zone === 'utc') return utcZone;
  return (zone === 'machine' && timeZone !== undefined && machineZone(timeZone)) || localZone;
}
