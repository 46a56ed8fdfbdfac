/** An answer to a call that has no pages: the newest rows, up to both limits. */
export const wholeAnswer = { rows: 10_000, bytes: 16 * 2 ** 20 } as const;

/** A page, below the 4 MiB that gRPC clients take in one message. */
export const pageBytes = 3.5 * 2 ** 20;

/** Bounds of a page, or of a whole answer where the request names no size. */
export const boundsOf = (size: number): { rows: number; bytes: number } =>
  size === 0 ? wholeAnswer : { rows: size, bytes: pageBytes };

/** About what a row takes in an answer. */
export const sizeOf = (row: unknown): number => JSON.stringify(row).length;

/** `atOnce`: rows that are read in one slice. */
export type Bounds<T> = { rows: number; bytes: number; atOnce: number; size?: (row: T) => number };
/** `isCut`: there are more. */
export type Bounded<T> = { rows: T[]; isCut: boolean };

/**
 * As many rows from the start as fit, at least one where there is one. Reads slice by slice: what does not fit is not in memory.
 *
 * @param slice - the next rows, in order; fewer than `limit` at the end.
 */
export async function readBounded<T>(
  of: Bounds<T>,
  slice: (last: T | undefined, limit: number) => Promise<readonly T[]>,
): Promise<Bounded<T>> {
  const { size = sizeOf } = of;
  const rows: T[] = [];
  for (let bytes = 0; ;) {
    // One row more than fits says that there are more.
    const limit = Math.min(of.atOnce, of.rows + 1 - rows.length);
    const next = await slice(rows.at(-1), limit);
    for (const row of next) {
      bytes += size(row);
      if (rows.length === of.rows || (bytes > of.bytes && rows.length > 0)) return { rows, isCut: true };
      rows.push(row);
    }
    if (next.length < limit) return { rows, isCut: false };
  }
}

/** As SQL sorts by code points, for ties and names. */
export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
