import { sql } from 'kysely';
import type { Database } from './database.ts';
import type { JobRow } from './jobs.ts';

/** What lists show; not the evaluation, which may be long. */
const lineColumns = [
  'orgId',
  'id',
  'kind',
  'modelName',
  'modelVersion',
  'modelFramework',
  'labels',
  'arguments',
  'datasetId',
  'datasetVersionId',
  'limits',
  'registryItemId',
  'registryItemVersion',
  'modelType',
  'containerVersion',
  'state',
  'attempt',
  'runnerId',
  'cause',
  'errorCode',
  'errorMessage',
  'phase',
  'progress',
  'etaMs',
  'deadline',
  'modelId',
  'createdOn',
  'changedOn',
  'startedOn',
  'endedOn',
  'ordinal',
  'gpus',
  'status',
  'scoreName',
  'scoreValue',
] as const satisfies readonly (keyof JobRow)[];
export type JobLine = Pick<JobRow, (typeof lineColumns)[number]>;

export type List = {
  orgId: string;
  status: JobRow['status'] | undefined;
  /** Ordinal of the last job of the page before. */
  after: number | undefined;
};

/** So many rows are read at once: between them other calls have their turn. */
const rowsAtOnce = 500;

/** Newest first, at most `most` jobs in all. */
export async function* listJobs(db: Database, list: List, most = Infinity): AsyncGenerator<JobLine[]> {
  let { after } = list;
  for (let left = most; left > 0;) {
    const limit = Math.min(left, rowsAtOnce);
    let query = db.selectFrom('trainingJob').select(lineColumns).where('orgId', '=', list.orgId);
    if (list.status) query = query.where('status', '=', list.status);
    if (after !== undefined) query = query.where('ordinal', '<', after);
    const rows = await query.orderBy('ordinal', 'desc').limit(limit).execute();
    yield rows;
    if (rows.length < limit) return;
    after = rows.at(-1)?.ordinal;
    left -= rows.length;
  }
}

/** How many jobs of its organization wait in front of this one, and itself: 1 is next in line. */
export async function queuePosition(db: Database, row: Pick<JobRow, 'orgId' | 'ordinal'>): Promise<number> {
  const { count } = await db
    .selectFrom('trainingJob')
    .select(sql<number>`count(*)`.as('count'))
    .where('orgId', '=', row.orgId)
    .where('state', '=', 'pending')
    .where('ordinal', '<=', row.ordinal)
    .executeTakeFirstOrThrow();
  return Math.max(1, count);
}

/** Places in the queue along a list, newest first: it has every waiting job behind its first one, so one count does for all. */
export function queuePlaces(db: Database): (rows: readonly JobLine[]) => Promise<Map<string, number>> {
  const next: { place?: number } = {};
  return async (rows) => {
    const places = new Map<string, number>();
    for (const row of rows) {
      if (row.state !== 'pending') continue;
      const place = (next.place ??= await queuePosition(db, row));
      places.set(row.id, Math.max(1, place));
      next.place = place - 1;
    }
    return places;
  };
}
