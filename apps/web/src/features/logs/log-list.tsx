import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import type { LogRow } from './log-rows.ts';
import type { PlacedLine } from './log-window.ts';
import type { LogZone } from './log-zone.ts';
import { useDrawnInParts } from '../../ui/drawn-in-parts.ts';
import { formatCount } from '../../ui/quantities.ts';
import { LineRow, SeparatorRow } from './log-row.tsx';

interface LogListProps {
  rows: readonly LogRow[];
  words: readonly string[];
  zone: LogZone;
  /** New lines come in at the end. */
  isOpenEnded: boolean;
  hasNewer: boolean;
  /** Key of the row at which the list begins; undefined: at its end. */
  start: string | undefined;
  open: string | undefined;
  onOpen: (line: PlacedLine) => void;
  onEdge: (where: 'older' | 'newer') => void;
  onNewest: () => void;
  onVisible: (span: { from: number; until: number }) => void;
  openLine: (line: PlacedLine) => ReactNode;
}

/** Pixels of a row; see .log-line. */
const rowHeight = { wide: 20, narrow: 40 };
const narrow = '(max-width: 760px)';
/** Pixels from the end that still count as "at the end". */
const nearEnd = 30;
/** Rows from an end at which more are loaded. */
const nearEdge = 100;
const overscan = 15;
const upwards: ReadonlySet<string> = new Set(['ArrowUp', 'PageUp', 'Home']);

const timeOf = (row: LogRow | undefined): number | undefined =>
  row && (row.is === 'line' ? row.line.time : row.is === 'gap' ? row.gap.from : row.at);

/** Loads more near an end, and reports what is visible. */
function useEdges(
  { rows, onEdge, onVisible }: LogListProps,
  { first, last, isFollowing }: { first?: number; last?: number; isFollowing: boolean },
): void {
  useEffect(() => {
    if (first === undefined || last === undefined) return;
    if (first < nearEdge && (!isFollowing || rows.length < nearEdge)) onEdge('older');
    if (last > rows.length - nearEdge) onEdge('newer');
    const [from, until] = [timeOf(rows[first]), timeOf(rows[last])];
    if (from !== undefined && until !== undefined) onVisible({ from, until });
  }, [first, last, isFollowing, rows, onEdge, onVisible]);
}

/**
 * Only the visible rows are in the document. The list follows the newest line until the user turns upwards, and keeps
 * its place when lines come in above.
 */
export function LogList(props: LogListProps) {
  const { rows, hasNewer, start } = props;
  const box = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(start === undefined);
  const height = window.matchMedia(narrow).matches ? rowHeight.narrow : rowHeight.wide;
  const virtual = useVirtualizer<HTMLDivElement, Element>({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan,
    useFlushSync: false,
  });
  const items = virtual.getVirtualItems();
  const [first, last] = [items[0], items.at(-1)];
  const parts = useDrawnInParts(items.length);
  const drawn = items.slice(isFollowing ? -parts : 0); // from the end, which the user looks at
  const { keep, goToEnd } = useKeptPlace({ rows, virtual, box, isFollowing, start });
  useEdges(props, { isFollowing, ...(first && { first: first.index }), ...(last && { last: last.index }) });
  const watch = (): void => {
    const view = box.current;
    if (view === null) return;
    const moved = keep();
    const isAtEnd = view.scrollHeight - view.scrollTop - view.clientHeight < nearEnd;
    // Rows that turn out lower than expected move the end upwards, too.
    if (moved < -1 && !isAtEnd) setFollowing(false);
    else if (moved > 0 && isAtEnd && !hasNewer) setFollowing(true);
  };
  const goToNewest = (): void => {
    setFollowing(true);
    props.onNewest();
    goToEnd();
  };
  return (
    <div className="log-frame">
      <div
        className="card log"
        ref={box}
        onScroll={watch}
        onWheel={({ deltaY }) => deltaY < 0 && setFollowing(false)}
        onKeyDown={({ key }) => {
          if (upwards.has(key)) setFollowing(false);
          if (key === 'End') goToNewest();
        }}
        role="region"
        aria-label="Log lines"
        tabIndex={0}
      >
        <ol style={{ paddingTop: drawn[0]?.start ?? 0, paddingBottom: virtual.getTotalSize() - (last?.end ?? 0) }}>
          {drawn.map(({ index, key }) => (
            <li key={key} data-index={index} ref={virtual.measureElement}>
              <Row {...props} row={rows[index]} />
            </li>
          ))}
        </ol>
      </div>
      {!isFollowing && <Newest {...props} onPress={goToNewest} />}
    </div>
  );
}

function Row({ row, words, zone, open, onOpen, openLine }: LogListProps & { row: LogRow | undefined }) {
  if (!row) return null;
  if (row.is !== 'line') return <SeparatorRow row={row} zone={zone} />;
  const isOpen = open === row.key;
  return (
    <>
      <LineRow line={row.line} words={words} zone={zone} isOpen={isOpen} onOpen={() => onOpen(row.line)} />
      {isOpen && openLine(row.line)}
    </>
  );
}

/** Counts the lines that came in since the list stopped following. */
function Newest({ rows, hasNewer, isOpenEnded, onPress }: LogListProps & { onPress: () => void }) {
  const newest = rows.at(-1)?.key;
  const [known] = useState(newest);
  const index = hasNewer ? -1 : rows.findLastIndex(({ key }) => key === known);
  const fresh = index < 0 ? 0 : rows.length - 1 - index;
  return (
    <button type="button" className="button button-small log-jump" onClick={onPress}>
      {fresh > 0 ? `${formatCount(fresh, 'new line')}: show` : isOpenEnded ? 'To the newest line' : 'To the last line'}
    </button>
  );
}

type Virtual = ReturnType<typeof useVirtualizer<HTMLDivElement, Element>>;
interface Kept {
  rows: readonly LogRow[];
  virtual: Virtual;
  box: { current: HTMLDivElement | null };
  isFollowing: boolean;
  start: string | undefined;
}

/** Keeps the first visible row where it is when rows come in above it; while following, the end. */
function useKeptPlace({ rows, virtual, box, isFollowing, start }: Kept) {
  const kept = useRef({ key: '', start: 0, above: 0, top: 0, isStarted: start === undefined });
  /** @returns how far the list was scrolled since the last call. */
  const keep = useCallback((): number => {
    const top = box.current?.scrollTop ?? 0;
    const moved = top - kept.current.top;
    // Among all rows: those that are drawn belong to the place before when the page itself scrolled the list.
    let item = virtual.getVirtualItemForOffset(top);
    // The keys of rows between lines have a space: such a row goes when lines come in above it.
    while (item && String(item.key).includes(' ')) item = virtual.measurementsCache[item.index + 1];
    const from = item?.start ?? 0;
    kept.current = { ...kept.current, top, key: String(item?.key ?? ''), start: from, above: top - from };
    return moved;
  }, [box, virtual]);
  const goToEnd = useCallback((): void => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [box]);

  useLayoutEffect(() => {
    const view = box.current;
    if (view === null || rows.length === 0) return;
    const indexOf = (wanted: string | undefined): number => rows.findIndex(({ key }) => key === wanted);
    if (!kept.current.isStarted) {
      const index = indexOf(start);
      if (index < 0 || start === undefined) return;
      // A list that is not long enough yet does not scroll: then the next lines come in around this one.
      kept.current = { ...kept.current, isStarted: true, key: start, start: -1, above: -view.clientHeight / 2 };
      virtual.scrollToIndex(index, { align: 'center' });
      return;
    }
    if (isFollowing) goToEnd();
    else {
      const index = indexOf(kept.current.key);
      const [offset] = index < 0 ? [] : (virtual.getOffsetForIndex(index, 'start') ?? []);
      if (offset !== undefined && offset !== kept.current.start) view.scrollTop = offset + kept.current.above;
    }
    keep();
  }, [rows, start, isFollowing, box, virtual, keep, goToEnd]);
  const total = virtual.getTotalSize();
  useLayoutEffect(() => {
    // A row that opens moves the end.
    if (isFollowing) goToEnd();
  }, [total, isFollowing, goToEnd]);
  return { keep, goToEnd };
}
