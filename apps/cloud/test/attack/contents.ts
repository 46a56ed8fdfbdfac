import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../src/database/database.ts';

/** Stored data except one organization's: table → its rows, folder → its files. */
export type Contents = (but: string) => Promise<Record<string, string>>;

/** The server writes these asynchronously: the last contact of machines, and what it measures of files that arrived. */
const measured = ['kind', 'type', 'width', 'height', 'used_bits', 'problem'].map((name) => `image_${name}`);
const counters = ['last_seen', ...measured];
/** The server writes these by itself, whoever calls: its own clock, and what it measures all the time. */
const ownTables = ['retention_time', 'condition_record', 'fleet_sample', 'watched_time'];

/**
 * Rows that note a try, which changes nothing else: a failed sign-in, a set-up code that is sent again, and an installer
 * that starts again.
 */
const notes: Readonly<Record<string, RawBuilder<unknown>>> = {
  audit: sql`and action <> 'failed sign-in'`,
  set_up_attempt: sql`and result <> 'repeated'`,
  install_step: sql`and kind not in ('started', 'refused')`,
};

export async function contentsOf(db: Database, dataFolder: string): Promise<Contents> {
  const { rows: tables } = await sql<{ name: string; owner: 'org_id' | 'id' | null }>`
    select table_name as name, case when table_name = 'organization' then 'id' when exists (
      select from information_schema.columns c
       where c.table_schema = 'public' and c.table_name = t.table_name and column_name = 'org_id') then 'org_id' end as owner
    from information_schema.tables t
    where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> all(${ownTables}::text[]) order by 1`.execute(
    db,
  );
  const rowsOf = (name: string, owner: 'org_id' | 'id' | null, but: string) => {
    const noted = notes[name] ?? sql``;
    const where = owner ? sql`where ${sql.ref(owner)} is distinct from ${but}::uuid ${noted}` : sql``;
    return sql`select ${sql.lit(name)} as name, (select coalesce(string_agg(t, E'\n' order by t), '') from
      (select (to_jsonb(r) - ${sql.lit(`{${counters.join()}}`)}::text[])::text as t from ${sql.table(name)} r ${where}) s) as text`;
  };
  return async (but) => {
    const all = sql.join(
      tables.map(({ name, owner }) => rowsOf(name, owner, but)),
      sql` union all `,
    );
    const { rows } = await sql<{ name: string; text: string }>`${all}`.execute(db);
    return {
      ...Object.fromEntries(rows.map(({ name, text }) => [name, text])),
      blobs: await filesIn(path.join(dataFolder, 'blobs')),
    };
  };
}

/** Excludes the partial files of uploads in progress. */
async function filesIn(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  const lines = await Promise.all(
    files.map(async (file) => `${path.relative(folder, file)} ${(await stat(file).catch(() => undefined))?.size ?? 0}`),
  );
  return lines.toSorted().join('\n');
}

/** Describes the differences from `before`. */
export function changes(before: Record<string, string>, after: Record<string, string>): string[] {
  return Object.keys({ ...before, ...after }).flatMap((name) => {
    if (before[name] === after[name]) return [];
    const [old, now] = [before[name] ?? '', after[name] ?? ''].map((text) => new Set(text.split('\n')));
    const lines = [...(now ?? [])].filter((line) => !old?.has(line)).map((line) => `+${line}`);
    const gone = [...(old ?? [])].filter((line) => !now?.has(line)).map((line) => `-${line}`);
    return [`${name}: ${[...lines, ...gone].join(' ').slice(0, 600)}`];
  });
}
