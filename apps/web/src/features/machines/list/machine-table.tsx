import { parseSort, type SortKey } from '@platform/contract/machine/sort';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from 'react';
import type { CSSProperties } from 'react';
import { useDrawnInParts } from '../../../ui/drawn-in-parts.ts';
import { useMedia } from '../../../ui/media.ts';
import { type machineColumns, shownColumns } from './machine-columns.ts';
import { isSelected, type MachineSelection, withMachines } from './machine-selection.ts';
import type { MachineList } from './machine-list-query.ts';
import { MachineCells } from './machine-cells.tsx';

/** Rows above and below the window, for the keyboard and quick scrolling. */
const overscan = 4;
/** px, as in tables.css. */
const rowHeight = { wide: 28, narrow: 40 };

interface TableProps {
  list: MachineList;
  rows: number;
  sort: string;
  onSort: (sort: string) => void;
  columns: string;
  selection: MachineSelection;
  onSelect: (selection: MachineSelection) => void;
}

/**
 * The place of the rows in the page, whose texts above the table change its height. An observer is called when the layout
 * is done; a look after each drawing would make the browser do it again.
 */
function useTop(body: RefObject<HTMLTableSectionElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const table = body.current;
    const page = table?.closest('.page');
    if (!table || !page) return undefined;
    const observer = new ResizeObserver(() => setTop(Math.round(table.getBoundingClientRect().top + window.scrollY)));
    observer.observe(page);
    return () => observer.disconnect();
  }, [body]);
  return top;
}

/** Only the visible rows are in the document, between two rows that stand for the others. */
export function MachineTable({ list, rows, sort, onSort, columns, selection, onSelect }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const top = useTop(body);
  const isNarrow = useMedia('(max-width: 760px)');
  const height = isNarrow ? rowHeight.narrow : rowHeight.wide;
  const shown = shownColumns(columns);
  const virtual = useWindowVirtualizer({
    count: rows,
    estimateSize: () => height,
    overscan,
    scrollMargin: top,
    // The window scrolls by itself; a first scroll to where it is makes the browser lay out the page in between.
    scrollToFn: () => {},
    useFlushSync: false,
  });
  const visible = virtual.getVirtualItems();
  const [first, last] = [visible[0], visible.at(-1)];
  const { setVisible } = list;
  useEffect(() => {
    if (first && last) setVisible({ first: first.index, last: last.index });
  }, [first?.index, last?.index, setVisible]);
  useEffect(() => virtual.measure(), [virtual, height]);
  const pick = useRangeSelection(list, selection, onSelect);
  const drawn = visible.slice(0, useDrawnInParts(visible.length));
  return (
    <table className={columns === '' ? 'table table-long is-usual' : 'table table-long'} aria-rowcount={rows + 1}>
      <Head rows={rows} columns={shown} sort={sort} onSort={onSort} selection={selection} onSelect={onSelect} />
      <tbody ref={body}>
        <Space height={(first?.start ?? top) - top} />
        {drawn.map(({ index }) => {
          const machine = list.machineAt(index);
          const isChosen = machine !== undefined && isSelected(selection, machine.id);
          return (
            <tr
              key={index}
              data-index={index}
              aria-rowindex={index + 2}
              className={isChosen ? 'is-chosen' : undefined}
              style={{ height }}
            >
              <MachineCells
                machine={machine}
                columns={shown}
                isChosen={isChosen}
                onChoose={(isOn, isRange) => pick(index, isOn, isRange)}
              />
            </tr>
          );
        })}
        <Space height={virtual.getTotalSize() + top - (drawn.at(-1)?.end ?? top)} />
      </tbody>
    </table>
  );
}

/** Selects a row, or with Shift all loaded ones since the row before. */
function useRangeSelection(
  list: MachineList,
  selection: MachineSelection,
  onSelect: (selection: MachineSelection) => void,
) {
  const before = useRef<number>(undefined);
  return (index: number, isOn: boolean, isRange: boolean): void => {
    const from = isRange ? (before.current ?? index) : index;
    const [low, high] = [Math.min(from, index), Math.max(from, index)];
    const ids = Array.from({ length: high - low + 1 }, (_, at) => list.machineAt(low + at)?.id);
    before.current = index;
    onSelect(
      withMachines(
        selection,
        ids.filter((id) => id !== undefined),
        isOn,
      ),
    );
  };
}

const Space = ({ height }: { height: number }) =>
  height > 0 && <tr className="table-space" aria-hidden="true" style={{ height }} />;

const orderOf = (sort: string) => parseSort(sort) ?? { by: 'name', isDescending: false };

interface HeadingProps extends Pick<TableProps, 'sort' | 'onSort'> {
  column: (typeof machineColumns)[number];
}

function SortedHeading({ column: { key: by, text, isNumber }, sort, onSort }: HeadingProps) {
  const order = orderOf(sort);
  const isSorted = order.by === by;
  return (
    <th
      scope="col"
      className={isNumber ? `number col-${by}` : `col-${by}`}
      aria-sort={isSorted ? (order.isDescending ? 'descending' : 'ascending') : 'none'}
    >
      <button type="button" className="table-sort" onClick={() => onSort(nextOrder(order, by))}>
        {text}
        <span aria-hidden="true">{isSorted ? (order.isDescending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>
  );
}

const nextOrder = (order: { by: string; isDescending: boolean }, by: SortKey): string =>
  order.by === by && !order.isDescending ? `-${by}` : by;

interface HeadProps extends Pick<TableProps, 'rows' | 'sort' | 'onSort' | 'selection' | 'onSelect'> {
  columns: ReturnType<typeof shownColumns>;
}

function Head({ rows, columns, sort, onSort, selection, onSelect }: HeadProps) {
  const whole = columns.reduce((sum, { share }) => sum + share, 0);
  return (
    <>
      <colgroup>
        <col className="table-pick" />
        {columns.map(({ key, share }) => (
          <col key={key} className={`col-${key}`} style={{ '--share': `${(share / whole) * 100}%` } as CSSProperties} />
        ))}
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          <th className="table-pick">
            <input
              type="checkbox"
              aria-label={rows === 1 ? 'Select the machine' : `Select all ${rows} machines`}
              checked={selection.is === 'all'}
              onChange={({ target }) => onSelect(target.checked ? { is: 'all' } : { is: 'some', ids: new Set() })}
            />
          </th>
          {columns.map((column) => (
            <SortedHeading key={column.key} column={column} sort={sort} onSort={onSort} />
          ))}
        </tr>
      </thead>
    </>
  );
}
