import { createHash } from 'node:crypto';

/** What the checks of an agent name its run with. */
export const runIdBytes = 16;

/**
 * Names one start of the agent. It is never stored: a stored one would be copied with the disk. A virtual machine that
 * is restored from a snapshot may draw the random bytes of an earlier start again, so the times of the start count, too.
 */
export const runIdOf = (of: { random: Uint8Array; wall: number; monotonicNs: bigint }): Uint8Array =>
  createHash('sha256').update(of.random).update(`${of.wall} ${of.monotonicNs}`).digest().subarray(0, runIdBytes);
