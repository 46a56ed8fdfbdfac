import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import type { ReactNode, RefObject } from 'react';
import '../../ui/style/training.css';

/** Until the first row is measured. */
const usual = { columns: 6, height: 200, top: 0 };
/** Rows above and below the window, for the keyboard and quick scrolling. */
const overscan = 2;

interface ImageGridProps {
  count: number;
  /** Called when the last row comes near the window. */
  onEnd: () => void;
  /** The list item of an image. */
  children: (index: number) => ReactNode;
}

/**
 * A grid of equally high rows. Only those near the window are in the document; the space of the others is above and
 * below them.
 */
export function ImageGrid({ count, onEnd, children }: ImageGridProps) {
  const list = useRef<HTMLUListElement>(null);
  const { columns, height, top } = useGridSize(list);
  const rows = Math.ceil(count / columns);
  const virtual = useWindowVirtualizer({
    count: rows,
    estimateSize: () => height,
    overscan,
    scrollMargin: top,
    useFlushSync: false,
  });
  useEffect(() => virtual.measure(), [virtual, height]);
  const visible = virtual.getVirtualItems();
  const [first, last] = [visible[0], visible.at(-1)];
  const isAtEnd = last !== undefined && last.index >= rows - 1 - overscan;
  useEffect(() => {
    if (isAtEnd) onEnd();
    // Not when `onEnd` changes: a page that failed would be asked for again and again.
  }, [isAtEnd, count]);
  const from = (first?.index ?? 0) * columns;
  const until = Math.min(count, ((last?.index ?? 0) + 1) * columns);
  return (
    <ul
      ref={list}
      className="images images-even"
      style={{
        paddingBlockStart: (first?.start ?? top) - top,
        paddingBlockEnd: virtual.getTotalSize() + top - (last?.end ?? top),
      }}
    >
      {Array.from({ length: until - from }, (_, at) => children(from + at))}
    </ul>
  );
}

/** Columns, height of a row with its gap, and distance from the top of the page, as the styles lay them out. */
function useGridSize(list: RefObject<HTMLUListElement | null>) {
  const [size, setSize] = useState(usual);
  const measure = (): void => {
    const grid = list.current;
    const item = grid?.firstElementChild?.getBoundingClientRect();
    if (!grid || !item) return;
    const style = getComputedStyle(grid);
    const next = {
      columns: style.gridTemplateColumns.split(' ').length,
      height: Math.round(item.height + Number.parseFloat(style.rowGap)),
      top: Math.round(grid.getBoundingClientRect().top + window.scrollY),
    };
    setSize((now) => (now.columns === next.columns && now.height === next.height && now.top === next.top ? now : next));
  };
  useLayoutEffect(measure);
  useEffect(() => {
    const observer = new ResizeObserver(measure);
    if (list.current) observer.observe(list.current);
    return () => observer.disconnect();
  }, []);
  return size;
}
