import type { ReactNode } from 'react';
import { ListSkeleton } from './messages.tsx';

interface Column<Row> {
  /** The heading, and on narrow screens the label of each cell. */
  title: string;
  /** Screen readers alone get the heading: the cell has a button. */
  isHidden?: boolean;
  isNumber?: boolean;
  className?: string;
  /** Must not call hooks. */
  cell: (row: Row, at: number) => ReactNode;
  tooltip?: (row: Row) => string | undefined;
}
/** The first one names the row. */
export type Columns<Row> = readonly Column<Row>[];

interface TableProps<Row> {
  /** Undefined: they are loading. */
  rows: readonly Row[] | undefined;
  keyOf: (row: Row, at: number) => string;
  columns: Columns<Row>;
}

/** A table whose rows are cards on narrow screens. */
export const Table = <Row,>({ rows, keyOf, columns }: TableProps<Row> & { rows: readonly Row[] }) => (
  <table className="table table-cards">
    <thead>
      <tr>
        {columns.map(({ title, isHidden, isNumber }) => (
          <th key={title} scope="col" className={isNumber ? 'number' : undefined}>
            {isHidden ? <span className="hidden-text">{title}</span> : title}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row, at) => (
        <tr key={keyOf(row, at)}>
          {columns.map(({ title, isHidden, isNumber, className, cell, tooltip }, place) => (
            <td
              key={title}
              className={
                [place === 0 && 'lead', isNumber && 'number', className].filter(Boolean).join(' ') || undefined
              }
              title={tooltip?.(row)}
              data-label={place === 0 ? undefined : isHidden ? '' : title}
            >
              {cell(row, at)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);

interface ListTableProps<Row> extends TableProps<Row> {
  error: unknown;
  /** How many rows hold their place while the list loads. */
  skeletonRows?: number;
  /** Shown instead of an empty table. */
  empty: ReactNode;
}

/** A table of a list that the page loads. */
export function ListTable<Row>({ rows, error, skeletonRows, empty, ...table }: ListTableProps<Row>) {
  if (rows === undefined) return error ? null : <ListSkeleton {...(skeletonRows && { rows: skeletonRows })} />;
  return rows.length === 0 ? empty : <Table {...table} rows={rows} />;
}
