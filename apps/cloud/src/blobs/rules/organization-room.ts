/** Bytes of an organization that count towards its limit. */
export type Held = {
  /** Bytes of files that a row references, or that were uploaded recently. */
  used: number;
  /** Bytes of deleted files that are still on disk. */
  waiting: number;
  /** Bytes of uploads in progress. */
  arriving: number;
};

/**
 * Whether `more` bytes fit. A deletion makes room at once. All bytes together stay below twice the limit, so that
 * repeated deletions and uploads cannot fill the disk.
 *
 * @param limit - 0: no limit.
 */
export function hasRoom({ used, waiting, arriving }: Held, more: number, limit: number): boolean {
  if (limit === 0) return true;
  return used + arriving + more <= limit && used + waiting + arriving + more <= 2 * limit;
}
