// A manifest is text of whoever can write to the folder of backups: a restore makes names of files and SQL of it.

/** What a restore uses of a manifest, as JSON. */
interface Unchecked {
  number?: unknown;
  createdOn?: unknown;
  installationId?: unknown;
  database?: {
    migrations?: unknown;
    tables?: unknown;
    partitions?: unknown;
    sequences?: unknown;
  };
  blobs?: unknown;
  keys?: unknown;
}

/** A table, column or sequence, as the migrations name them. */
const name = /^[a-z][a-z0-9_]{0,62}$/;
const fileName = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/;
const sha256 = /^[0-9a-f]{64}$/;
const count = /^\d{1,16}$/;
/** Partitions are days. */
const bound = /^FOR VALUES FROM \('\d{4,6}-\d{2}-\d{2}'\) TO \('\d{4,6}-\d{2}-\d{2}'\)$/;

type Rule = RegExp | 'names';
type Rules = Readonly<Record<string, Rule>>;

const lists: Readonly<Record<'migrations' | 'tables' | 'partitions' | 'sequences', Rules>> = {
  migrations: { name: fileName, sha256: /^[0-9a-f]{1,64}$/ },
  tables: { name, columns: 'names', rows: count, file: fileName, sizeBytes: count, sha256 },
  partitions: { name, parent: name, bound },
  sequences: { name, value: count },
};
const blobs: Rules = { file: fileName, sha256, count, bytes: count };
const itself: Rules = { number: count, createdOn: /^\d{4,6}-[\d:TZ.-]{1,30}$/, installationId: /^[\w-]{1,100}$/ };

/** Why a restore may not use this manifest, as a clause that names the field; undefined: it may. */
export function manifestProblem(manifest: unknown): string | undefined {
  if (!isObject(manifest)) return 'it is not an object';
  const { database = {}, ...rest } = manifest as Unchecked;
  const found =
    problemOf('', rest, itself) ?? problemOf('blobs.', rest.blobs, blobs) ?? problemOf('keys.', rest.keys, { sha256 });
  if (found !== undefined) return found;
  for (const [list, rules] of Object.entries(lists)) {
    const rows = (database as Record<string, unknown>)[list];
    if (!Array.isArray(rows)) return `database.${list} is not a list`;
    for (const [index, row] of rows.entries()) {
      const problem = problemOf(`database.${list}[${index}].`, row, rules);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

function problemOf(place: string, value: unknown, rules: Rules): string | undefined {
  if (!isObject(value)) return `${place.replace(/\.$/, '')} is not an object`;
  const wrong = Object.entries(rules).find(([field, rule]) => !fits(value[field], rule));
  if (!wrong) return undefined;
  return `${place}${wrong[0]} is ${(JSON.stringify(value[wrong[0]]) ?? 'missing').slice(0, 200)}, which no backup has`;
}

function fits(value: unknown, rule: Rule): boolean {
  if (rule === 'names') return Array.isArray(value) && value.length > 0 && value.every((one) => fits(one, name));
  return (typeof value === 'string' || typeof value === 'number') && rule.test(String(value));
}
