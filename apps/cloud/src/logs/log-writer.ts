import type { Clock } from '@platform/kit';
import { ArrivalClock } from './arrival-clock.ts';
import { type Batch, lineQueues } from './line-queues.ts';
import { partitionDay } from './rules/log-days.ts';
import { type Database, isDatabaseAway } from '../database/database.ts';
import { dayWriter } from '../database/day-partitions.ts';
import { readLatestTime } from './store/latest-time.ts';
import type { NewLogRow } from './store/part-logs.ts';
import { storeLines } from './store/repeated-lines.ts';

/** Batches the lines of all machines into common inserts: a row then costs a twentieth. */
export type LogWriter = {
  /** Resolves when the lines, all of this part, are committed. */
  write(partId: string, rows: readonly NewLogRow[]): Promise<void>;
  /** Called for lines that are not written, because their sender sent too many at once. */
  refused(lines: number): void;
};

const batchDelayMs = 15;
/** Concurrent statements: while one waits for the disk, the other works. */
const lanes = 2;

/** UTF-16 code units of the texts, because one line may be long. */
export const charactersOf = (rows: readonly NewLogRow[]): number =>
  rows.reduce((sum, { message, rest }) => sum + message.length + (rest?.length ?? 0), 0);

function lineStore(db: Database, arrivals: ArrivalClock): (rows: readonly NewLogRow[]) => Promise<void> {
  const write = dayWriter(db, 'part_log');
  return async (rows) => {
    const now = await arrivals.now();
    const days = rows.map(({ timeUs }) => partitionDay(timeUs / 1000, now).day);
    await write(days, () => storeLines(db, rows, now));
  };
}

/** Inserts the batches and settles each. An invalid line of one sender must not fail the batches of the others. */
async function insertBatches(store: (rows: readonly NewLogRow[]) => Promise<void>, batches: readonly Batch[]) {
  try {
    await store(batches.flatMap((batch) => batch.rows));
    for (const batch of batches) batch.done();
  } catch (error) {
    if (batches.length > 1 && !isDatabaseAway(error)) for (const batch of batches) await insertBatches(store, [batch]);
    else for (const batch of batches) batch.failed(error);
  }
}

export function logWriter(db: Database, clock: Clock): LogWriter {
  const store = lineStore(db, new ArrivalClock(clock, () => readLatestTime(db)));
  const queues = lineQueues();
  const state = { workers: 0, isDelayed: false };

  const writeNext = async (): Promise<void> => {
    const turn = queues.takeTurn();
    wake();
    await insertBatches(store, turn.batches);
    turn.end();
  };
  const work = async (): Promise<void> => {
    state.workers++;
    while (queues.hasReady() && !state.isDelayed) {
      if (!queues.fillsInsert()) {
        state.isDelayed = true;
        await clock.sleep(batchDelayMs);
        state.isDelayed = false;
      }
      await writeNext();
    }
    state.workers--;
  };
  function wake(): void {
    if (queues.hasReady() && !state.isDelayed && state.workers < lanes) void work();
  }
  return {
    async write(partId, rows) {
      if (rows.length === 0) return;
      const { promise, resolve: done, reject: failed } = Promise.withResolvers<void>();
      queues.add(partId, { rows, characters: charactersOf(rows), done, failed });
      wake();
      await promise;
    },
    refused() {},
  };
}
