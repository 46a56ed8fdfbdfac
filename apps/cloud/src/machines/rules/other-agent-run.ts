// Agents of other products name no run. The start of an agent, by its uptime, is its run.

/** The first half of the id of such a run; the second half is when it started, ms since 1970. */
const prefix = Buffer.from('agent-of');
/** Estimated starts differ by the delays of the network. */
const sameStartMs = 30_000;

const decoded = (id: string): Buffer => Buffer.from(id, 'base64url');

export const isOtherRun = (id: string): boolean => decoded(id).subarray(0, prefix.length).equals(prefix);

const startOf = (id: string): number => Number(decoded(id).readBigUInt64BE(prefix.length));

/** The id of the run that started then: that of a known run that started at about the same time, or a new one. */
export function otherRunId(startedOn: number, knownIds: readonly string[]): string {
  const found = knownIds.find((id) => isOtherRun(id) && Math.abs(startOf(id) - startedOn) <= sameStartMs);
  if (found !== undefined) return found;
  const start = Buffer.alloc(8);
  start.writeBigUInt64BE(BigInt(Math.max(0, Math.round(startedOn))));
  return Buffer.concat([prefix, start]).toString('base64url');
}
