import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { isAbort } from '@platform/kit';
import { FailureNote, Loading } from '../../ui/messages.tsx';
import { emptyWindow, type LogWindow, type PlacedLine, windowOf, withNewer } from './log-window.ts';
import type { LogZone } from './log-zone.ts';
import { LineRow } from './log-row.tsx';
import { useLogPages } from './log-window-query.ts';

const linesAround = 25;
const noWords: readonly string[] = [];
const everything = {};

interface ContextProps {
  partIds: readonly string[];
  line: PlacedLine;
  zone: LogZone;
}
/** The lines before and after one, of all levels and all machines that are shown. */
export function LogContext({ partIds, line, zone }: ContextProps) {
  const read = useLogPages({ partIds, query: '', span: everything });
  const [around, setAround] = useState<{ before: LogWindow; after: LogWindow }>();
  const [error, setError] = useState<unknown>();
  const [wanted, setWanted] = useState({ older: 1, newer: 1 });
  useEffect(() => {
    const end = new AbortController();
    const load = async (): Promise<void> => {
      const [older, newer] = await Promise.all([
        read('older', { cursor: line.cursor, limit: wanted.older * linesAround }, end.signal),
        read('newer', { cursor: line.cursor, limit: wanted.newer * linesAround }, end.signal),
      ]);
      setAround({ before: windowOf(older), after: withNewer(emptyWindow, newer) });
    };
    load().catch((caught: unknown) => {
      if (!end.signal.aborted && !isAbort(caught)) setError(caught);
    });
    return () => end.abort();
  }, [read, line.cursor, wanted]);
  const box = useRef<HTMLElement>(null);
  const isLoaded = around !== undefined;
  useLayoutEffect(() => {
    const hit = box.current?.querySelector<HTMLElement>('.log-hit');
    if (box.current && hit) box.current.scrollTop = hit.offsetTop - box.current.clientHeight / 2;
  }, [isLoaded]);
  if (error !== undefined) return <FailureNote error={error} />;
  if (!around) return <Loading />;
  const row = (one: PlacedLine, isIt: boolean) => (
    <li key={one.key} className={isIt ? 'log-hit' : ''}>
      <LineRow line={one} words={noWords} zone={zone} />
    </li>
  );
  const more = (where: 'older' | 'newer', text: string) => (
    <button
      type="button"
      className="button button-small"
      onClick={() => setWanted((before) => ({ ...before, [where]: before[where] + 1 }))}
    >
      {text}
    </button>
  );
  return (
    <section className="log-context" ref={box} aria-label="Lines around it, of all levels">
      {around.before.hasOlder && more('older', `${linesAround} more above`)}
      <ol>
        {around.before.lines.map((one) => row(one, false))}
        {row(line, true)}
        {around.after.lines.map((one) => row(one, false))}
      </ol>
      {around.after.hasNewer && more('newer', `${linesAround} more below`)}
    </section>
  );
}
