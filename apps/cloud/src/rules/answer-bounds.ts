/** An answer to a call that has no pages: the newest rows, up to both limits. */
export const wholeAnswer = { rows: 10_000, bytes: 16 * 2 ** 20 } as const;

/** A page, below the 4 MiB that gRPC clients take in one message. */
export const pageBytes = 3.5 * 2 ** 20;

/** About what a row takes in an answer. */
export const sizeOf = (row: unknown): number => JSON.stringify(row).length;

/**
 * As many rows from the start as fit, at least one where there is one. Reads slice by slice: what does not fit is not in memory.
 *
 * @param slice - the next rows, in order; fewer than `limit` at the end.
 */
export async function readBounded<T>(
  of: { rows: number; bytes: number; atOnce: number; size?: (row: T) => number },
  slice: (last: T | undefined, limit: number) => Promise<readonly T[]>,
): Promise<{ rows: T[]; isCut: boolean }> {
  const { size = sizeOf } = of;
  const rows: T[] = [];
  for (let bytes = 0; rows.length < of.rows;) {
    const limit = Math.min(of.atOnce, of.rows - rows.length);
    const next = await slice(rows.at(-1), limit);
    for (const row of next) {
      bytes += size(row);
      if (bytes > of.bytes && rows.length > 0) return { rows, isCut: true };
      rows.push(row);
    }
    if (next.length < limit) return { rows, isCut: false };
  }
  return { rows, isCut: true };
}
