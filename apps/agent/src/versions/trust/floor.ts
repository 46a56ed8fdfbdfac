import { createHash } from 'node:crypto';

/**
 * The highest versions ever trusted on this machine. The documents contain the same versions. The floor also holds if
 * they are torn or lost, so that old documents cannot roll the machine back.
 */
export interface Floor {
  /** Identifies the root document: if the stored one is lost, this hash verifies the one that is fetched again. */
  root: { version: number; sha256: string };
  /** A version counts only while the same keys sign. Keys that replace stolen ones start again. */
  timestamp: { version: number; keys: string };
  snapshot: { version: number; keys: string };
  targets: { version: number; keys: string };
}

export const floorFile = 'state/tuf/floor.json';

export const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** @throws Error if the value is not a floor. */
export function parseFloor(value: unknown): Floor {
  const record = (of: unknown): Record<string, unknown> => {
    if (typeof of !== 'object' || of === null) throw new Error('not an object');
    return of as Record<string, unknown>;
  };
  const number = (of: unknown): number => {
    if (!Number.isSafeInteger(of)) throw new Error('a version is not a number');
    return of as number;
  };
  const text = (of: unknown): string => {
    if (typeof of !== 'string') throw new Error('not a text');
    return of;
  };
  const all = record(value);
  const role = (of: unknown) => ({ version: number(record(of)['version']), keys: text(record(of)['keys']) });
  const root = record(all['root']);
  return {
    root: { version: number(root['version']), sha256: text(root['sha256']) },
    timestamp: role(all['timestamp']),
    snapshot: role(all['snapshot']),
    targets: role(all['targets']),
  };
}

/** Which role is below the floor, for display; undefined: none. The caller checks the root document before. */
export function belowFloor(now: Floor, floor: Floor | undefined): string | undefined {
  if (!floor) return undefined;
  for (const role of ['timestamp', 'snapshot', 'targets'] as const) {
    if (now[role].keys === floor[role].keys && now[role].version < floor[role].version)
      return `${role} version ${now[role].version} is older than ${floor[role].version}, which was trusted before`;
  }
  return undefined;
}
