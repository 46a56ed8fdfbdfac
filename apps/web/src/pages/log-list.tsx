import { useLayoutEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { LogLine } from '../view/log-lines.ts';
import { bothMoments, localClock } from '../view/times.ts';

interface LogListProps {
  lines: readonly LogLine[];
  isFollowing: boolean;
  /** What stands above the first line. */
  older: ReactNode;
}

/** Pixels from the end that still count as "at the end". */
const nearEnd = 40;

/** Follows the newest line while the reader is at the end; stays put when older lines come in above. */
export function LogList({ lines, isFollowing, older }: LogListProps) {
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const first = useRef({ key: '', height: 0 });

  useLayoutEffect(() => {
    const view = box.current;
    if (view === null) return;
    const isGrownAbove = first.current.key !== '' && first.current.key !== lines[0]?.key;
    if (isAtEnd && isFollowing) view.scrollTop = view.scrollHeight;
    else if (isGrownAbove) view.scrollTop += view.scrollHeight - first.current.height;
    first.current = { key: lines[0]?.key ?? '', height: view.scrollHeight };
  }, [lines, isAtEnd, isFollowing]);

  const watch = (): void => {
    const view = box.current;
    if (view !== null) setAtEnd(view.scrollHeight - view.scrollTop - view.clientHeight < nearEnd);
  };
  const jump = (): void => {
    const view = box.current;
    if (view !== null) view.scrollTop = view.scrollHeight;
  };
  return (
    <div className="log-frame">
      <div className="card log" ref={box} onScroll={watch} role="region" aria-label="Log lines" tabIndex={0}>
        <div className="log-older">{older}</div>
        <ol>
          {lines.map((line) => (
            <LogRow key={line.key} line={line} />
          ))}
        </ol>
      </div>
      {!isAtEnd && (
        <button type="button" className="button button-small log-jump" onClick={jump}>
          To the newest line
        </button>
      )}
    </div>
  );
}

const LogRow = ({ line }: { line: LogLine }) => (
  <li className={`log-line log-${line.level}`}>
    <time title={bothMoments(line.time)}>{localClock(line.time)}</time>
    <span className="log-level">{line.level}</span>
    <span className="log-text">
      <span className="log-logger">{line.logger}</span> {line.message}
      {line.fields && <span className="soft">{line.fields}</span>}
    </span>
  </li>
);
