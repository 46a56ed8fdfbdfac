import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import type { StoredRun } from '../rules/shared-identity.ts';

/** Rows of a part that are kept: twins, and the runs before their last restarts. */
const mostRuns = 6;

const idOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
export const runIdBytes = (id: string): Buffer => Buffer.from(id, 'base64url');
/** Undefined: the agent is older and sends none, or it sends something else. */
export const runIdOf = (bytes: Uint8Array): string | undefined => (bytes.length === 16 ? idOf(bytes) : undefined);

const ago = (column: string) => sql`(extract(epoch from now() - ${sql.ref(column)}) * 1000)::double precision`;
const columns = sql`part_id, run_id, hostname, address, link_addresses,
  ${ago('first_seen')} as first_ago, ${ago('last_sent')} as sent_ago, ${ago('returned_on')} as returned_ago`;

type Row = Omit<StoredRun, 'id'> & { runId: Buffer };
const runOf = ({ runId, ...row }: Row): StoredRun => ({ id: idOf(runId), ...row });

export async function readRuns(db: Database, partIds: readonly string[]): Promise<StoredRun[]> {
  const { rows } = await sql<Row>`
    select ${columns} from part_run where part_id = any(${partIds}::uuid[]) order by first_seen, run_id`.execute(db);
  return rows.map(runOf);
}

/** Like `readRuns`, for the parts of which a run has returned: few of many. */
export async function readReturnedRuns(db: Database, partIds: readonly string[]): Promise<Map<string, StoredRun[]>> {
  const { rows } = await sql<Row>`
    select ${columns} from part_run where part_id in (
      select part_id from part_run where returned_on is not null and part_id = any(${partIds}::uuid[]))
     order by first_seen, run_id`.execute(db);
  return Map.groupBy(rows.map(runOf), ({ partId }) => partId);
}

/** The runs whose reports are stored, by part. */
export async function readReportRuns(db: Database, partIds: readonly string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ id: string; reportRun: Buffer }>`
    select id, report_run from part where id = any(${partIds}::uuid[]) and report_run is not null`.execute(db);
  return new Map(rows.map(({ id, reportRun }) => [id, idOf(reportRun)]));
}

/**
 * Stores runs, in one statement for many parts.
 *
 * @param changed - parts of which other servers must know a run.
 */
export async function saveRuns(db: Database, runs: readonly StoredRun[], changed: readonly string[]): Promise<void> {
  // Sorted, so that two writers cannot deadlock.
  const rows = runs.toSorted((a, b) => (`${a.partId}${a.id}` < `${b.partId}${b.id}` ? -1 : 1));
  const before = (age: string) => sql`now() - make_interval(secs => ${sql.ref(age)} / 1000)`;
  await db.transaction().execute(async (trx) => {
    await sql`
      insert into part_run (part_id, run_id, first_seen, last_sent, returned_on, hostname, address, link_addresses)
      select part.id, new.run_id, ${before('new.first_ago')}, ${before('new.sent_ago')}, ${before('new.returned_ago')},
             new.hostname, new.address, array(select jsonb_array_elements_text(new.links))
        from unnest(${rows.map(({ partId }) => partId)}::uuid[], ${rows.map(({ id }) => runIdBytes(id))}::bytea[],
          ${rows.map((row) => row.firstAgo)}::double precision[], ${rows.map((row) => row.sentAgo)}::double precision[],
          ${rows.map((row) => row.returnedAgo)}::double precision[], ${rows.map(({ hostname }) => hostname)}::text[],
          ${rows.map(({ address }) => address)}::text[],
          ${rows.map(({ linkAddresses }) => JSON.stringify(linkAddresses))}::jsonb[])
          new(part_id, run_id, first_ago, sent_ago, returned_ago, hostname, address, links)
        join part on part.id = new.part_id
      on conflict (part_id, run_id) do update
         set last_sent = greatest(part_run.last_sent, excluded.last_sent),
             returned_on = coalesce(part_run.returned_on, excluded.returned_on),
             hostname = excluded.hostname, address = excluded.address, link_addresses = excluded.link_addresses`.execute(
      trx,
    );
    const partIds = [...new Set(rows.map(({ partId }) => partId))];
    await sql`
      delete from part_run where (part_id, run_id) in (
        select part_id, run_id from (
          select part_id, run_id, row_number() over (partition by part_id order by last_sent desc, run_id) as place
            from part_run where part_id = any(${partIds}::uuid[])) ranked where place > ${mostRuns})`.execute(trx);
    if (changed.length > 0)
      await trx
        .insertInto('change')
        .values(changed.map((key) => ({ kind: 'run', key })))
        .execute();
  });
}

/** Forgets that runs of a part alternated, and one of them: it is a machine of its own now. */
export async function forgetSharing(db: Database, partId: string, runId: Uint8Array): Promise<void> {
  await db.deleteFrom('partRun').where('partId', '=', partId).where('runId', '=', Buffer.from(runId)).execute();
  await db.updateTable('partRun').set({ returnedOn: null }).where('partId', '=', partId).execute();
}
