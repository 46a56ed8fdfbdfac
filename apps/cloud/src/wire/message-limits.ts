/** Bytes of one message. Whole messages are in memory, for each call that is under way. */
export const messageLimits = {
  /** Clients expect at least 32 MiB. */
  any: 64 * 2 ** 20,
  /** Of somebody who has not proved yet who they are; a larger one, or one that does not tell its size, waits until they have. */
  unproven: 64 * 2 ** 10,
  /** What an agent says of its machine with a check. */
  check: 2 ** 20,
  /** A call of log lines. */
  lines: 16 * 2 ** 20,
} as const;
