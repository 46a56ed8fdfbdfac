import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import type { JsonObject } from '../../database/schema.ts';
import { type PendingSplit, type SplitColumns, splitOf } from '../../machines/store/machine-splits.ts';
import { noteFirstReports } from '../../machines/store/install-keys.ts';
import { noteServerStarts, type ReportedOrder, saveReportedOrders } from '../../machines/store/part-orders.ts';
import { orderLifeMs, type StoredKind } from '../../machines/rules/part-orders.ts';
import { restartLifeMs } from '../../machines/rules/restart-request.ts';
import { ourAgentTag } from '../../releases/rules/update-info.ts';

/** Stored data that the response to an agent is built from. */
export type WaitingOrder = { id: string; kind: Exclude<StoredKind, 'restart server'>; expiresOn: number };

export type PartSource = {
  revision: number;
  /** Hash of the saved configuration; null: none. */
  configSha256: Buffer | null;
  /** The saved `agent` and `maintenance_window`, unchanged. */
  agent: unknown;
  window: unknown;
  quarantineClearance: number;
  /** The newest request of a system upgrade; 0: none, or the machine has reported it as done. */
  systemUpgrades: number;
  /** A user requested a restart within the last hour, and the machine has not taken it yet. */
  isRestartWanted: boolean;
  /** A user requested a migration from another product's agent to ours, and it has not completed. */
  isMigrating: boolean;
  host: JsonObject | null;
  /** Orders that wait for the machine; null: none. */
  orders: readonly WaitingOrder[] | null;
  /** Absent: no run of its agent is to become a machine of its own. */
  split?: PendingSplit | null;
};

/** @returns sources in the order of the IDs; undefined: no such part. */
export async function readPartSources(db: Database, ids: readonly string[]): Promise<(PartSource | undefined)[]> {
  const { rows } = await sql<Omit<PartSource, 'split'> & SplitColumns & { id: string }>`
    select part.id, part.revision, part.quarantine_clearance, part.host,
      case when part.system_upgrades > part.system_upgrades_done then part.system_upgrades else 0 end as system_upgrades,
      coalesce(part.restart_requested_on > now() - make_interval(secs => ${restartLifeMs / 1000}), false) as is_restart_wanted, part.migration_requested_on is not null as is_migrating, saved.config -> 'agent' as agent, saved.sha256 as config_sha256,
      saved.config -> 'maintenance_window' as window,
      (select jsonb_agg(jsonb_build_object('id', id, 'kind', kind,
          'expiresOn', extract(epoch from requested_on) * 1000 + ${orderLifeMs}) order by kind)
         from part_order where part_id = part.id and kind <> 'restart server'
          and state = 'waiting' and requested_on > now() - make_interval(secs => ${orderLifeMs / 1000})) as orders, split.run_id as split_run, split.new_part_id as split_part,
      split.code_seed as split_seed
    from part left join machine_split split on split.part_id = part.id left join config_revision saved on saved.part_id = part.id and saved.revision = part.revision
    where part.id = any(${ids}::uuid[])`.execute(db);
  const found = new Map(
    rows.map(({ id, splitRun, splitPart, splitSeed, ...source }) => [
      id,
      { ...source, split: splitOf({ splitRun, splitPart, splitSeed }) },
    ]),
  );
  return ids.map((id) => found.get(id));
}

export type NewReport = {
  partId: string;
  host: JsonObject | undefined;
  report:
    | {
        bytes: Uint8Array;
        facts: JsonObject;
        systemUpgradesDone: number;
        orders: readonly ReportedOrder[];
        /** How long ago its machine server started; undefined: none runs, or it is not ready. */
        serverStartedAgoMs: number | undefined;
      }
    | undefined;
  /** The run of the agent that sent the report; undefined: it is older and names none. */
  run?: Uint8Array | undefined;
};

/**
 * Absent values stay as stored. If a part has two reports, the later one is stored. A check by our agent ends a
 * migration, even if its report says that the migration failed.
 */
export async function saveReports(db: Database, reports: readonly NewReport[]): Promise<void> {
  const merged = new Map<string, NewReport>();
  for (const { partId, host, report, run } of reports) {
    const before = merged.get(partId);
    const sent = report ? { report, run } : { report: before?.report, run: before?.run };
    merged.set(partId, { partId, host: host ?? before?.host, ...sent });
  }
  // Sorted by ID, so that two writers cannot deadlock.
  const rows = [...merged.values()].toSorted((a, b) => (a.partId < b.partId ? -1 : 1));
  await sql`
    update part set host = coalesce(part.host || new.host, new.host, part.host), report = coalesce(new.report, part.report),
      facts = coalesce(new.facts, part.facts),
      reported_on = case when new.report is null then part.reported_on else now() end,
      report_run = case when new.report is null then part.report_run else new.run end,
      migration_requested_on = case when coalesce(new.host, part.host) -> 'tags' ? ${ourAgentTag} then null
        else part.migration_requested_on end
    from unnest(${rows.map((row) => row.partId)}::uuid[], ${rows.map((row) => row.host && JSON.stringify(row.host))}::jsonb[],
      ${rows.map((row) => row.report && Buffer.from(row.report.bytes))}::bytea[],
      ${rows.map((row) => row.report && JSON.stringify(row.report.facts))}::jsonb[],
      ${rows.map(({ run }) => run && Buffer.from(run))}::bytea[]) new(id, host, report, facts, run)
    where part.id = new.id`.execute(db);
  await withdrawDone(db, rows);
  const reported = rows.flatMap(({ partId, report }) => (report ? [{ partId, ...report }] : []));
  await saveReportedOrders(db, reported);
  await noteServerStarts(
    db,
    reported.flatMap(({ partId, serverStartedAgoMs: ago }) =>
      ago === undefined ? [] : [{ partId, startedAgoMs: ago }],
    ),
  );
  await noteFirstReports(
    db,
    reported.map(({ partId }) => partId),
  );
}

/** Withdraws the requests of system upgrades that are reported as done, and has the cached answers built anew. */
async function withdrawDone(db: Database, reports: readonly NewReport[]): Promise<void> {
  const done = reports.filter(({ report }) => (report?.systemUpgradesDone ?? 0) > 0);
  if (done.length === 0) return;
  // A server that was restored from a backup may have counted fewer requests than the machine has done.
  await sql`
    with withdrawn as (
      update part set system_upgrades_done = least(new.done, part.system_upgrades)
      from unnest(${done.map(({ partId }) => partId)}::uuid[],
        ${done.map(({ report }) => report?.systemUpgradesDone ?? 0)}::bigint[]) new(id, done)
      where part.id = new.id and part.system_upgrades_done < least(new.done, part.system_upgrades) returning part.id)
    insert into change (kind, key) select 'part', id from withdrawn`.execute(db);
}
