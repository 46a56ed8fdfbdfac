// Which pages of a long list the visible rows need.

export const rowsOfPage = 50;

export interface RowRange {
  readonly first: number;
  readonly last: number;
}

export const pagesOf = ({ first, last }: RowRange): number[] => {
  const from = Math.floor(first / rowsOfPage);
  return Array.from({ length: Math.floor(last / rowsOfPage) - from + 1 }, (_, index) => from + index);
};

/** A long list is read less often: each request counts all its rows. */
export const refreshMsOf = (rows: number): number => (rows <= rowsOfPage ? 2_000 : rows <= 1_000 ? 5_000 : 10_000);
