/** Limits of a response without pages: the newest rows, up to both limits. */
export const wholeAnswer = { rows: 10_000, bytes: 16 * 2 ** 20 } as const;

/** Bytes of a page, below the 4 MiB that gRPC clients accept in one message. */
export const pageBytes = 3.5 * 2 ** 20;

/** Limits of a page, or of a whole response if the request has no page size. */
export const boundsOf = (size: number): { rows: number; bytes: number } =>
  size === 0 ? wholeAnswer : { rows: size, bytes: pageBytes };

/** Approximate bytes of a row in a response. */
export const sizeOf = (row: unknown): number => JSON.stringify(row).length;

/** `atOnce`: rows per slice that is read. */
export type Bounds<T> = { rows: number; bytes: number; atOnce: number; size?: (row: T) => number };
/** `isCut`: there are more rows. */
export type Bounded<T> = { rows: T[]; isCut: boolean };

/**
 * Returns the first rows that fit, at least one if there is any. Reads slice by slice, so that only one slice beyond
 * the limit is in memory.
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
    // One row beyond the limit shows that there are more.
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

/** Compares like SQL, by code points instead of by locale; for ties and names. The order may differ above U+FFFF. */
export const byText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
