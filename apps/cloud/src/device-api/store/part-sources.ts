import { sql } from 'kysely';
import type { Database } from '../../database/database.ts';
import type { JsonObject } from '../../database/schema.ts';
import { restartLifeMs } from '../../machines/rules/restart-request.ts';
import { ourAgentTag } from '../../releases/rules/update-info.ts';

/** Stored data that the response to an agent is built from. */
export type PartSource = {
  revision: number;
  /** The saved `agent` and `maintenance_window`, unchanged. */
  agent: unknown;
  window: unknown;
  quarantineClearance: number;
  systemUpgrades: number;
  /** A user requested a restart within the last hour, and the machine has not taken it yet. */
  isRestartWanted: boolean;
  /** A user requested a migration from another product's agent to ours, and it has not completed. */
  isMigrating: boolean;
  host: JsonObject | null;
};

/** @returns sources in the order of the IDs; undefined: no such part. */
export async function readPartSources(db: Database, ids: readonly string[]): Promise<(PartSource | undefined)[]> {
  const { rows } = await sql<PartSource & { id: string }>`
    select part.id, part.revision, part.quarantine_clearance, part.system_upgrades, part.host,
      coalesce(part.restart_requested_on > now() - make_interval(secs => ${restartLifeMs / 1000}), false) as is_restart_wanted, part.migration_requested_on is not null as is_migrating, saved.config -> 'agent' as agent,
      saved.config -> 'maintenance_window' as window
    from part left join config_revision saved on saved.part_id = part.id and saved.revision = part.revision
    where part.id = any(${ids}::uuid[])`.execute(db);
  const found = new Map(rows.map(({ id, ...source }) => [id, source]));
  return ids.map((id) => found.get(id));
}

export type NewReport = {
  partId: string;
  host: JsonObject | undefined;
  report: { bytes: Uint8Array; facts: JsonObject } | undefined;
};

/**
 * Absent values stay as stored. If a part has two reports, the later one is stored. A check by our agent ends a
 * migration, even if its report says that the migration failed.
 */
export async function saveReports(db: Database, reports: readonly NewReport[]): Promise<void> {
  const merged = new Map<string, NewReport>();
  for (const { partId, host, report } of reports) {
    const before = merged.get(partId);
    merged.set(partId, { partId, host: host ?? before?.host, report: report ?? before?.report });
  }
  // Sorted by ID, so that two writers cannot deadlock.
  const rows = [...merged.values()].toSorted((a, b) => (a.partId < b.partId ? -1 : 1));
  await sql`
    update part set host = coalesce(part.host || new.host, new.host, part.host), report = coalesce(new.report, part.report),
      facts = coalesce(new.facts, part.facts),
      reported_on = case when new.report is null then part.reported_on else now() end,
      migration_requested_on = case when coalesce(new.host, part.host) -> 'tags' ? ${ourAgentTag} then null
        else part.migration_requested_on end
    from unnest(${rows.map((row) => row.partId)}::uuid[], ${rows.map((row) => row.host && JSON.stringify(row.host))}::jsonb[],
      ${rows.map((row) => row.report && Buffer.from(row.report.bytes))}::bytea[],
      ${rows.map((row) => row.report && JSON.stringify(row.report.facts))}::jsonb[]) new(id, host, report, facts)
    where part.id = new.id`.execute(db);
}
