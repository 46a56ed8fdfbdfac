import { PlatformError } from '@platform/contract/errors/errors';

/**
 * Which database an upgrade starts from.
 *
 * @param names - in the folder `path` of the database's files.
 * @param own - the major version to come to.
 * @throws PlatformError DATABASE_UPGRADE_NEEDLESS, DATABASE_OF_OTHER_MAJOR, DATABASE_UPGRADE_FAILED
 */
export function oldMajor(names: readonly string[], { path, own }: { path: string; own: string }): string {
  const majors = names.filter((name) => /^\d+$/.test(name));
  const refuse = (problem: string): PlatformError => new PlatformError('DATABASE_UPGRADE_FAILED', { path, problem });
  if (majors.includes(own)) throw new PlatformError('DATABASE_UPGRADE_NEEDLESS', { path, known: own });
  const newer = majors.find((one) => Number(one) > Number(own));
  if (newer !== undefined) throw new PlatformError('DATABASE_OF_OTHER_MAJOR', { path, found: newer, known: own });
  const [found, ...more] = majors;
  if (found === undefined) throw refuse('the folder holds no database. A server with DATABASE_URL keeps none there');
  if (more.length > 0) throw refuse(`it holds several: ${majors.join(', ')}. Move away all but the newest`);
  if (names.includes(`${found}-old`)) throw refuse(`${found}-old is there already. Move it away`);
  return found;
}

const mib = 2 ** 20;
/** The log of a load: at most max_wal_size, which is the default of PostgreSQL. */
const longestLogBytes = 1024 * mib;
/** A database without rows, and copies of the programs where its user cannot reach them. */
const emptyBytes = 256 * mib;

/** Free bytes that an upgrade needs beside the old database: its rows, the new database, and its log. */
export const roomFor = (oldBytes: number): number =>
  2 * oldBytes + Math.min(2 * oldBytes, longestLogBytes) + emptyBytes;

/** What a database holds. */
export type Content = {
  /** By the name of the table: the number of rows, and two sums of their hashes that no order changes. */
  tables: Readonly<Record<string, string>>;
  /** Last values. */
  sequences: Readonly<Record<string, string>>;
};

/** The first difference; undefined: they are equal. */
export function differenceOf(old: Content, made: Content): string | undefined {
  for (const [what, before, after] of [
    ['table', old.tables, made.tables],
    ['sequence', old.sequences, made.sequences],
  ] as const)
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
      if (before[name] !== after[name])
        return `${what} ${name} is "${before[name] ?? 'missing'}" in the old database, and "${after[name] ?? 'missing'}" in the new one`;
  return undefined;
}
