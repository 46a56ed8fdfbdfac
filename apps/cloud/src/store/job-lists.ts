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

export type Page = {
  orgId: string;
  status: JobRow['status'] | undefined;
  /** Ordinal of the last job of the page before. */
  after: number | undefined;
  /** undefined: all. */
  size: number | undefined;
};

/** Newest first. `next`: where the page after this one goes on; undefined: there is none. */
export async function listJobs(db: Database, page: Page): Promise<{ rows: JobLine[]; next: number | undefined }> {
  const { orgId, status, after, size } = page;
  let query = db.selectFrom('trainingJob').select(lineColumns).where('orgId', '=', orgId);
  if (status) query = query.where('status', '=', status);
  if (after !== undefined) query = query.where('ordinal', '<', after);
  query = query.orderBy('ordinal', 'desc');
  // One more than asked for says whether there is another page.
  const rows = await (size === undefined ? query : query.limit(size + 1)).execute();
  if (size === undefined || rows.length <= size) return { rows, next: undefined };
  const kept = rows.slice(0, size);
  return { rows: kept, next: kept.at(-1)?.ordinal };
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

/**
 * Places in the queue for a page, newest first. A page has every waiting job between its oldest and its newest, so one count is
 * enough for all of it.
 */
export async function queuePositions(db: Database, rows: readonly JobLine[]): Promise<Map<string, number>> {
  const waiting = rows.filter((row) => row.state === 'pending').toReversed();
  const [oldest] = waiting;
  if (!oldest) return new Map();
  const first = await queuePosition(db, oldest);
  return new Map(waiting.map((row, index) => [row.id, first + index]));
}
