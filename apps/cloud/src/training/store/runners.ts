import { sql } from 'kysely';
import type { Clock } from '@platform/kit';
import { type Bounded, wholeAnswer } from '../../rpc/rules/answer-bounds.ts';
import type { Capabilities } from '../rules/runner-capabilities.ts';
import { boundedList } from '../../database/bounded-list.ts';
import { at, type Database } from '../../database/database.ts';

/** A runner with its capabilities. */
export type RunnerCapabilities = Capabilities & { id: string; host: string; version: string; executor: string };
/** A runner as the server last saw it. */
export type SeenRunner = RunnerCapabilities & {
  /** ms since 1970. */
  lastSeen: number;
  /** The job that it holds. */
  jobId: string | undefined;
};

/** Interval at which an unchanged runner is stored again. */
const everyMs = 10_000;

export type RunnerNotes = {
  /** Stores that the runner was seen, for each organization whose queue it serves. */
  note(orgIds: readonly string[], capabilities: RunnerCapabilities): Promise<void>;
  /** Stores that the runner was seen because it reported on a job. */
  touch(orgId: string, runnerId: string): Promise<void>;
};

/** Stores runners: changes immediately, otherwise at intervals. */
export function runnerNotes(db: Database, clock: Clock): RunnerNotes {
  const written = new Map<string, { text: string; at: number }>();
  /** Whether to write now; if so, records the write. */
  const isDue = (key: string, text: string | undefined): boolean => {
    const before = written.get(key);
    const isSame = before !== undefined && (text === undefined || before.text === text);
    if (isSame && clock.now() - before.at < everyMs) return false;
    if (written.size > 10_000) written.clear();
    written.set(key, { text: text ?? before?.text ?? '', at: clock.now() });
    return true;
  };
  return {
    async note(orgIds, capabilities) {
      const text = JSON.stringify(capabilities);
      const due = orgIds.filter((orgId) => isDue(`${orgId} ${capabilities.id}`, text));
      if (due.length === 0) return;
      const { host, version, executor, gpus, noScriptsBecause } = capabilities;
      const containers = capabilities.containers.map(({ eolMs, ...container }) => ({ ...container, eol_ms: eolMs }));
      const columns = {
        host,
        version,
        executor,
        gpus,
        noScriptsBecause,
        kinds: [...capabilities.kinds],
        containers: JSON.stringify(containers),
        lastSeen: at(clock.wall()),
      };
      await db
        .insertInto('runner')
        .values(due.map((orgId) => ({ orgId, id: capabilities.id, ...columns })))
        .onConflict((conflict) => conflict.columns(['orgId', 'id']).doUpdateSet(columns))
        .execute();
    },
    async touch(orgId, id) {
      if (!isDue(`${orgId} ${id}`, undefined)) return;
      await db
        .updateTable('runner')
        .set({ lastSeen: at(clock.wall()) })
        .where((eb) => eb.and({ orgId, id }))
        .execute();
    },
  };
}

/**
 * Runners of these organizations that were seen since (ms since 1970), last seen first, as many as a response holds.
 */
export async function runnersSince(
  db: Database,
  orgIds: readonly string[],
  since: number,
): Promise<Bounded<SeenRunner>> {
  if (orgIds.length === 0) return { rows: [], isCut: false };
  const query = db
    .selectFrom('runner')
    .select([
      'runner.id',
      'runner.host',
      'runner.version',
      'runner.executor',
      'runner.kinds',
      'runner.gpus',
      'runner.containers',
      'runner.noScriptsBecause',
      'runner.lastSeen',
    ])
    .select(
      sql<string | null>`(select job.id from training_job job where job.org_id = runner.org_id
        and job.runner_id = runner.id and job.state in ('in_progress', 'canceling') order by job.created_on limit 1)`.as(
        'jobId',
      ),
    )
    .where('runner.orgId', 'in', orgIds)
    .where('runner.lastSeen', '>=', at(since))
    .orderBy('runner.lastSeen', 'desc')
    .orderBy('runner.id');
  const { rows, isCut } = await boundedList(db, query, { ...wholeAnswer, atOnce: 200 });
  return {
    rows: rows.map(({ containers, jobId, ...row }) => ({
      ...row,
      jobId: jobId ?? undefined,
      containers: containers.map(({ eol_ms: eolMs, ...container }) => ({ ...container, eolMs })),
    })),
    isCut,
  };
}
