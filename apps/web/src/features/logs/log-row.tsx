import { droppedLinesField } from '@platform/contract/logs/marker';
import { fieldPairs } from '@platform/contract/logs/fields';
import { type ReactNode, useContext } from 'react';
import { fieldValue } from '../../entities/log/log-lines.ts';
import type { LogRow } from './log-rows.ts';
import { markedPieces, roundedNumbers, safeText, shortText } from './log-text.ts';
import type { PlacedLine } from './log-window.ts';
import type { LogZone } from './log-zone.ts';
import { formatCount } from '../../ui/quantities.ts';
import { bothMoments, span } from '../../ui/times.ts';
import { LogMachines } from './log-machines.ts';

/** Marks the searched words. */
const Marked = ({ text, words }: { text: string; words: readonly string[] }) =>
  markedPieces(text, words).map((piece, index) =>
    index % 2 === 1 ? <mark key={index}>{piece}</mark> : <span key={index}>{piece}</span>,
  );

interface LineProps {
  line: PlacedLine;
  words: readonly string[];
  zone: LogZone;
  isOpen?: boolean;
  /** Absent: it cannot be opened. */
  onOpen?: () => void;
}
/** One line of text; its time is the button that opens it. */
export function LineRow({ line, words, zone, isOpen = false, onOpen }: LineProps) {
  const message = shortText(line.message);
  const fields = shortText(roundedNumbers(line.fields));
  const isGap = line.dropped > 0;
  return (
    <div className={`log-line ${isGap ? 'log-gap' : `log-${line.level}`}`}>
      {onOpen ? (
        <button
          type="button"
          className="log-time"
          aria-expanded={isOpen}
          title={bothMoments(line.time)}
          onClick={onOpen}
        >
          {zone.clock(line.time)}
        </button>
      ) : (
        <time title={bothMoments(line.time)}>{zone.clock(line.time)}</time>
      )}
      <MachineOf partId={line.partId} />
      <span className="log-level">{isGap ? 'gap' : line.level}</span>
      <span className="log-logger" title={line.logger}>
        {safeText(line.logger)}
      </span>
      <span className="log-text">
        {isGap && <strong>{formatCount(line.dropped, 'line')} lost here. </strong>}
        <bdi>
          <Marked text={message.text} words={words} />
        </bdi>
        {fields.text !== '' && (
          <bdi className="soft">
            <Marked text={` ${fields.text.trim()}`} words={words} />
          </bdi>
        )}
        {message.isCut && <span className="soft"> … {formatCount(line.message.length, 'character')}</span>}
      </span>
    </div>
  );
}

/** Whose line it is, where there are lines of several machines. */
function MachineOf({ partId }: { partId: string }) {
  const machines = useContext(LogMachines);
  if (!machines) return null;
  const index = machines.findIndex((machine) => machine.partId === partId);
  const name = machines[index]?.name ?? '';
  return (
    <span className={`log-machine log-machine-${index}`} title={name}>
      {safeText(name)}
    </span>
  );
}

/** What stands between lines. */
export function SeparatorRow({ row, zone }: { row: Exclude<LogRow, { is: 'line' }>; zone: LogZone }) {
  const machines = useContext(LogMachines);
  if (row.is === 'date')
    return (
      <p className="log-between">
        <strong>{zone.date(row.at)}</strong>
      </p>
    );
  if (row.is === 'start')
    return (
      <p className="log-between">
        {machines ? <MachineOf partId={row.partId} /> : 'The agent'} started anew before{' '}
        <span>{zone.clock(row.at)}</span>
        <span className="soft mono">{row.boot.slice(0, 8)}</span>
      </p>
    );
  const { from, until } = row.gap;
  return (
    <p className="log-between log-silent">
      {machines && <MachineOf partId={row.partId} />}
      No measurements for {span(until - from)}, from {zone.clock(from)} to {zone.clock(until)}: the machine was off, or
      its agent did not run.
    </p>
  );
}

/** The whole line, with its fields and what a user can do with it. */
export function OpenLine({ line, actions, children }: { line: PlacedLine; actions: ReactNode; children?: ReactNode }) {
  const { entry } = line;
  const facts: (readonly [name: string, value: string])[] = [
    ['time', bothMoments(line.time)],
    ['logger', line.logger],
    ['level', entry.level],
    ['start', line.boot],
    ['host', line.host],
    ...fieldPairs(entry.fields)
      .filter(([name]) => name !== droppedLinesField)
      .map(([name, value]) => [name, fieldValue(value)] as const),
    ...(entry.caller ? ([['caller', JSON.stringify(entry.caller)]] as const) : []),
    ['stack', entry.stack],
  ];
  return (
    <div className="log-open">
      <pre className="log-whole">
        <bdi>{safeText(line.message)}</bdi>
      </pre>
      <dl>
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value], index) => (
            <div key={index}>
              <dt>{safeText(name)}</dt>
              <dd>
                <bdi>{safeText(value)}</bdi>
              </dd>
            </div>
          ))}
      </dl>
      <div className="row">{actions}</div>
      {children}
    </div>
  );
}
