import { parseSort, type SortKey } from '@platform/contract/machine-sort';
import { Link } from '@tanstack/react-router';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useLayoutEffect, useRef, useState } from 'react';
import { MachineBadge } from '../parts/contact.tsx';
import { SelectField } from '../parts/fields.tsx';
import { Ago } from '../parts/time.tsx';
import type { Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { machineBadge, machineView, type MachineView } from '../view/machine-status.ts';
import type { MachineList } from './machine-list-query.ts';

const columns: readonly { by: SortKey; text: string }[] = [
  { by: 'name', text: 'Name' },
  { by: 'state', text: 'State' },
  { by: 'location', text: 'Location' },
  { by: 'agent', text: 'Agent' },
  { by: 'server', text: 'Server' },
  { by: 'revision', text: 'Revision' },
  { by: 'seen', text: 'Last seen' },
];
/** Until the first one is measured, px. */
const usualHeight = 41;
/** Rows differ by a line. */
const sameHeight = 30;
/** Rows above and below the window, for the keyboard and quick scrolling. */
const overscan = 6;

interface TableProps {
  list: MachineList;
  rows: number;
  sort: string;
  onSort: (sort: string) => void;
}

/** Only the visible rows are in the document, between two rows that stand for the others. */
export function MachineTable({ list, rows, sort, onSort }: TableProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(usualHeight);
  const virtual = useWindowVirtualizer({
    count: rows,
    estimateSize: () => height,
    overscan,
    scrollMargin: top,
    useFlushSync: false,
  });
  const visible = virtual.getVirtualItems();
  const [first, last] = [visible[0], visible.at(-1)];
  const { setVisible } = list;
  useEffect(() => {
    if (first && last) setVisible({ first: first.index, last: last.index });
  }, [first?.index, last?.index, setVisible]);
  // The page above the table changes its height with its texts, and rows are cards on narrow screens.
  useLayoutEffect(() => {
    const box = body.current?.getBoundingClientRect();
    if (box) setTop(Math.round(box.top + window.scrollY));
    const row = body.current?.querySelector('tr[data-index]:has(a)')?.getBoundingClientRect();
    if (row && Math.abs(row.height - height) > sameHeight) setHeight(row.height);
  });
  useEffect(() => virtual.measure(), [virtual, height]);
  return (
    <>
      <SortMenu sort={sort} onSort={onSort} />
      <table className="table table-cards table-close table-long" aria-rowcount={rows + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <SortedHeading key={column.by} {...column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          <Space height={(first?.start ?? top) - top} />
          {visible.map(({ index }) => {
            const machine = list.machineAt(index);
            return (
              <tr
                key={index}
                data-index={index}
                ref={virtual.measureElement}
                aria-rowindex={index + 2}
                // A row that loads must not move those below it.
                style={machine ? {} : { height }}
              >
                <MachineCells machine={machine} />
              </tr>
            );
          })}
          <Space height={virtual.getTotalSize() + top - (last?.end ?? top)} />
        </tbody>
      </table>
    </>
  );
}

const Space = ({ height }: { height: number }) =>
  height > 0 && <tr className="table-space" aria-hidden="true" style={{ height }} />;

const orderOf = (sort: string) => parseSort(sort) ?? { by: 'name', isDescending: false };

function SortedHeading({
  by,
  text,
  sort,
  onSort,
}: { by: SortKey; text: string } & Pick<TableProps, 'sort' | 'onSort'>) {
  const order = orderOf(sort);
  const isSorted = order.by === by;
  const next = isSorted && !order.isDescending ? `-${by}` : by;
  return (
    <th scope="col" aria-sort={isSorted ? (order.isDescending ? 'descending' : 'ascending') : 'none'}>
      <button type="button" className="table-sort" onClick={() => onSort(next)}>
        {text}
        <span aria-hidden="true">{isSorted ? (order.isDescending ? ' ↓' : ' ↑') : ''}</span>
      </button>
    </th>
  );
}

/** For narrow screens, on which the table has no head. */
const SortMenu = ({ sort, onSort }: Pick<TableProps, 'sort' | 'onSort'>) => (
  <div className="only-narrow card-body">
    <SelectField
      label="Order"
      value={sort || 'name'}
      onChange={onSort}
      options={columns.flatMap(({ by, text }) => [
        { value: by, text },
        { value: `-${by}`, text: `${text}, descending` },
      ])}
    />
  </div>
);

/** Shows in the list that a machine needs action. */
function Standing({ machine }: { machine: MachineView }) {
  const badge = machineBadge(machine);
  return badge && <span className={`badge is-${badge.tone}`}>{badge.text}</span>;
}

function MachineCells({ machine: found }: { machine: Machine | undefined }) {
  if (!found)
    return (
      <td className="lead soft" colSpan={columns.length}>
        Loading …
      </td>
    );
  const machine = machineView(found);
  return (
    <>
      <td className="lead">
        <Link to="/machines/$machineId" params={{ machineId: machine.id }} className="row-link">
          {machine.name}
        </Link>
      </td>
      <td data-label="State">
        <span className="row">
          <MachineBadge state={machine.online} />
          <Standing machine={machine} />
        </span>
      </td>
      <td data-label="Location" className="break">
        {machine.location}
      </td>
      <td data-label="Agent" className="break">
        {machine.agent.running}
      </td>
      <td data-label="Server" className="break">
        {machine.server.running}
      </td>
      <td data-label="Revision" title={machine.config.text}>
        {machine.config.short}
      </td>
      <td data-label="Last seen" className="no-wrap">
        <Ago at={machine.lastSeen} />
      </td>
    </>
  );
}
