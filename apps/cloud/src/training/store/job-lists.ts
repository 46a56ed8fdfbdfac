import { sql } from 'kysely';
import { type Capabilities, queuePlace, type WaitingJobs, type JobRequirements } from '../rules/runner-capabilities.ts';
import type { Database } from '../../database/database.ts';
import type { JobRow } from './jobs.ts';

/** Columns for lists, without the evaluation, which may be long. */
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
  'scoreCount',
] as const satisfies readonly (keyof JobRow)[];
export type JobLine = Pick<JobRow, (typeof lineColumns)[number]>;

export type List = {
  orgId: string;
  status: JobRow['status'] | undefined;
  /** Ordinal of the last job of the previous page. */
  after: number | undefined;
  /** Lists jobs that predict suggestions, too. */
  hasPredictions: boolean;
};

/** Rows per statement: other calls run in between. */
const rowsAtOnce = 500;

/** Newest first, at most `most` jobs in total. */
export async function* listJobs(db: Database, list: List, most = Infinity): AsyncGenerator<JobLine[]> {
  let { after } = list;
  for (let left = most; left > 0;) {
    const limit = Math.min(left, rowsAtOnce);
    let query = db.selectFrom('trainingJob').select(lineColumns).where('orgId', '=', list.orgId);
    if (list.status) query = query.where('status', '=', list.status);
    if (!list.hasPredictions) query = query.where('kind', '<>', 'predict');
    if (after !== undefined) query = query.where('ordinal', '<', after);
    const rows = await query.orderBy('ordinal', 'desc').limit(limit).execute();
    yield rows;
    if (rows.length < limit) return;
    after = rows.at(-1)?.ordinal;
    left -= rows.length;
  }
}

/** Waiting jobs of an organization as old as this one or older, itself included, grouped by requirements. */
async function waitingJobs(db: Database, row: Pick<JobRow, 'orgId' | 'ordinal'>): Promise<WaitingJobs[]> {
  const rows = await db
    .selectFrom('trainingJob')
    .select(['kind', 'gpus', 'containerVersion as container', sql<number>`count(*)::integer`.as('count')])
    .where((eb) => eb.and({ orgId: row.orgId, state: 'pending' }))
    .where('ordinal', '<=', row.ordinal)
    .groupBy(['kind', 'gpus', 'containerVersion'])
    .execute();
  return rows;
}

/**
 * Queue positions of a list's jobs, newest first. The list contains every waiting job after its first one, so the first
 * count, reduced job by job, serves all.
 *
 * @param runners - reads those that may take jobs of this organization.
 */
export function queuePlaces(
  db: Database,
  runners: () => Promise<readonly Capabilities[]>,
): (rows: readonly JobLine[]) => Promise<Map<string, number>> {
  const known: { waiting?: WaitingJobs[]; runners?: readonly Capabilities[] } = {};
  return async (rows) => {
    const places = new Map<string, number>();
    for (const row of rows) {
      if (row.state !== 'pending') continue;
      const job = { kind: row.kind, gpus: row.gpus, container: row.containerVersion };
      known.runners ??= await runners();
      const waiting = (known.waiting ??= await waitingJobs(db, row));
      places.set(row.id, queuePlace(job, waiting, known.runners));
      const isOf = (one: JobRequirements): boolean =>
        one.kind === job.kind && one.gpus === job.gpus && one.container === job.container;
      known.waiting = waiting.map((one) => (isOf(one) ? { ...one, count: Math.max(0, one.count - 1) } : one));
    }
    return places;
  };
}
