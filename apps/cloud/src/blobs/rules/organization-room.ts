/** What an organization holds, as far as its limit goes. All in bytes. */
export type Held = {
  /** Bytes of files that something names, or that were sent just now. */
  used: number;
  /** Bytes of deleted files that are still on the disk. */
  waiting: number;
  /** Bytes of uploads in progress. */
  arriving: number;
};

/**
 * Is there room for `more` bytes? A deletion makes room at once; so that deleting and sending again fills no disk, all bytes
 * together stay below twice the limit.
 *
 * @param limit - 0: none.
 */
export function hasRoom({ used, waiting, arriving }: Held, more: number, limit: number): boolean {
  if (limit === 0) return true;
  return used + arriving + more <= limit && used + waiting + arriving + more <= 2 * limit;
}
