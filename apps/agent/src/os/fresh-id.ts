import { createHash, randomBytes } from 'node:crypto';
import { systemClock } from '@platform/kit/node';

export const idBytes = 16;

/**
 * The ID of one start. It is never read from the disk: it would be copied with the disk. A virtual machine that is
 * restored from a snapshot may draw the random bytes of an earlier start again, so the times count, too.
 */
export const idOf = (of: { random: Uint8Array; wall: number; monotonicNs: bigint }): Uint8Array =>
  createHash('sha256').update(of.random).update(`${of.wall} ${of.monotonicNs}`).digest().subarray(0, idBytes);

/** Names this run of the agent to the management server. */
export const newRunId = (random: Uint8Array = randomBytes(idBytes)): Uint8Array =>
  idOf({ random, wall: systemClock.wall(), monotonicNs: process.hrtime.bigint() });

/** Names the lines of one start, or a file: the management server keeps one line of each ID and number. */
export const newId = (random?: Uint8Array): string => Buffer.from(newRunId(random)).toString('hex');
