import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { LogLine } from '../view/log-lines.ts';
import { formatCount } from '../view/quantities.ts';
import { bothMoments, localClock } from '../view/times.ts';

interface LogListProps {
  lines: readonly LogLine[];
  isFollowing: boolean;
  /** Shown above the first line. */
  older: ReactNode;
}

/** Pixels from the end that still count as "at the end". */
const nearEnd = 40;

/** Follows the newest line while the user is at the end; keeps its position when older lines are added above. */
export function LogList({ lines, isFollowing, older }: LogListProps) {
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLOListElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const seen = useRef({ first: '', height: 0, top: 0 });
  const follows = isAtEnd && isFollowing;

  useLayoutEffect(() => {
    const view = box.current;
    if (view === null) return;
    const first = lines[0]?.key ?? '';
    const isGrownAbove = seen.current.first !== '' && seen.current.first !== first;
    if (follows) view.scrollTop = view.scrollHeight;
    else if (isGrownAbove) view.scrollTop += view.scrollHeight - seen.current.height;
    seen.current = { first, height: view.scrollHeight, top: view.scrollTop };
  }, [lines, follows]);

  useEffect(() => {
    if (list.current === null || !follows) return undefined;
    // Rows get their true height only when they scroll into view, which moves the end.
    const watcher = new ResizeObserver(() => {
      if (box.current !== null) box.current.scrollTop = box.current.scrollHeight;
    });
    watcher.observe(list.current);
    return () => watcher.disconnect();
  }, [follows]);

  const watch = (): void => {
    const view = box.current;
    if (view === null) return;
    const isUpwards = view.scrollTop < seen.current.top - 1;
    seen.current.top = view.scrollTop;
    if (view.scrollHeight - view.scrollTop - view.clientHeight < nearEnd) setAtEnd(true);
    else if (isUpwards) setAtEnd(false);
  };
  const jump = (): void => {
    setAtEnd(true);
    box.current?.scrollTo({ top: box.current.scrollHeight });
  };
  return (
    <div className="log-frame">
      <div className="card log" ref={box} onScroll={watch} role="region" aria-label="Log lines" tabIndex={0}>
        <div className="log-older">{older}</div>
        <ol ref={list}>
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

const LogRow = ({ line }: { line: LogLine }) =>
  line.dropped > 0 ? (
    <li className="log-line log-gap">
      <time title={bothMoments(line.time)}>{localClock(line.time)}</time>
      <span className="log-level">gap</span>
      <span className="log-text">
        <strong>{formatCount(line.dropped, 'line')} lost here.</strong> {line.message}
      </span>
    </li>
  ) : (
    <li className={`log-line log-${line.level}`}>
      <time title={bothMoments(line.time)}>{localClock(line.time)}</time>
      <span className="log-level">{line.level}</span>
      <span className="log-text">
        <span className="log-logger">{line.logger}</span> {line.message}
        {line.fields && <span className="soft">{line.fields}</span>}
      </span>
    </li>
  );
