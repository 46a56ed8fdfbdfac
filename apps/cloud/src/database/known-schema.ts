import { isFromBeforeBaseline, knownMigrations } from './migrate.ts';

type Recorded = { last: string; newest: string; unknown?: string; isUnreleased: boolean };

/**
 * How far a recorded schema came. Its rows can be loaded if this version makes the same schema by the same migrations.
 *
 * @returns the name of its last migration; `unknown`: what this version has otherwise; `isUnreleased`: a version from before
 *   the first release made it.
 */
export async function recordedSchema(recorded: readonly { name: string; sha256: string }[]): Promise<Recorded> {
  const known = await knownMigrations();
  const hashes = new Map(known.map((one) => [one.name, one.sha256]));
  const last = recorded.at(-1)?.name ?? '';
  const unknown =
    recorded.find((one) => hashes.get(one.name) !== one.sha256)?.name ??
    known.find((one) => one.name <= last && !recorded.some((have) => have.name === one.name))?.name;
  const isUnreleased = isFromBeforeBaseline(
    recorded.map(({ name }) => name),
    known[0]?.name,
  );
  return { last, newest: known.at(-1)?.name ?? '', isUnreleased, ...(unknown !== undefined && { unknown }) };
}
