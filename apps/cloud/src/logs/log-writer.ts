import { PlatformError } from '@platform/contract/errors';
import type { Clock } from '@platform/kit';
import { partitionDay } from './rules/log-days.ts';
import { type Database, isDatabaseAway, sqlState } from '../database/database.ts';
import { createLogDays } from './store/part-log-days.ts';
import { insertLogs, type NewLogRow } from './store/part-logs.ts';

/** Batches the lines of all machines into common inserts: a row then costs a twentieth. */
export type LogWriter = {
  /** Resolves when the lines, all of this part, are committed. */
  write(partId: string, rows: readonly NewLogRow[]): Promise<void>;
};

type Batch = { rows: readonly NewLogRow[]; characters: number; done: () => void; failed: (error: unknown) => void };
/** Size of what is waiting, of one part or of all. */
type Waiting = { rows: number; characters: number };
/** Lines of one part, in order of arrival. */
type Queue = Waiting & { partId: string; batches: Batch[] };

const noPartition = '23514';
const gatherMs = 15;
const perInsert: Waiting = { rows: 5_000, characters: 2 ** 23 };
/** Share of a part in each insert, so that a part that sends constantly cannot delay the others. */
const perTurn: Waiting = { rows: 1_000, characters: 2 ** 20 };
/** Concurrent statements: while one waits for the disk, the other works. */
const lanes = 2;
/** Limit of the lines in memory while the database is stalled. Machines resend rejected lines. */
const mostWaiting: Waiting = { rows: 200_000, characters: 2 ** 27 };
const mostOfPart: Waiting = { rows: 10_000, characters: 2 ** 24 };

const isOver = (waiting: Waiting, most: Waiting): boolean =>
  waiting.rows > most.rows || waiting.characters > most.characters;
const isFull = (taken: Waiting, most: Waiting): boolean =>
  taken.rows >= most.rows || taken.characters >= most.characters;
/** UTF-16 code units of the texts, because one line may be long. */
export const charactersOf = (rows: readonly NewLogRow[]): number =>
  rows.reduce((sum, { message, rest }) => sum + message.length + (rest?.length ?? 0), 0);

/** Creates the partitions of arriving lines, in case no sweep has created them or a sweep has dropped them. */
function lineStore(db: Database, clock: Clock): (rows: readonly NewLogRow[]) => Promise<void> {
  const known = new Set<string>();
  return async (rows) => {
    const now = clock.wall();
    const days = new Set(rows.map(({ timeUs }) => partitionDay(timeUs / 1000, now).day));
    if ([...days].some((day) => !known.has(day))) {
      await createLogDays(db, days);
      for (const day of days) known.add(day);
    }
    try {
      await insertLogs(db, rows, now);
    } catch (error) {
      // The partition was dropped since. If the statement has another error, the retry fails, too.
      known.clear();
      if (sqlState(error) !== noPartition) throw error;
      await createLogDays(db, days);
      await insertLogs(db, rows, now);
    }
  };
}

export function logWriter(db: Database, clock: Clock): LogWriter {
  const store = lineStore(db, clock);
  const queues = new Map<string, Queue>();
  /** Parts with waiting lines and no insert in progress: this keeps the lines of a part in order. */
  const ready: Queue[] = [];
  const waiting: Waiting = { rows: 0, characters: 0 };
  const state = { workers: 0, isGathering: false };
  const count = (of: Waiting, { rows, characters }: Batch, sign: 1 | -1): void => {
    of.rows += sign * rows.length;
    of.characters += sign * characters;
  };

  const insert = async (batches: readonly Batch[]): Promise<void> => {
    try {
      await store(batches.flatMap((batch) => batch.rows));
      for (const batch of batches) batch.done();
    } catch (error) {
      // An invalid line of one sender must not fail the batches of the others.
      if (batches.length > 1 && !isDatabaseAway(error)) for (const batch of batches) await insert([batch]);
      else for (const batch of batches) batch.failed(error);
    }
  };
  const takeTurn = (queue: Queue): Batch[] => {
    const taken: Waiting = { rows: 0, characters: 0 };
    const batches: Batch[] = [];
    while (!isFull(taken, perTurn)) {
      const batch = queue.batches.shift();
      if (!batch) break;
      for (const sum of [queue, waiting]) count(sum, batch, -1);
      count(taken, batch, 1);
      batches.push(batch);
    }
    return batches;
  };
  const writeNext = async (): Promise<void> => {
    const turn: Queue[] = [];
    const chosen: Batch[] = [];
    const taken: Waiting = { rows: 0, characters: 0 };
    while (!isFull(taken, perInsert)) {
      const queue = ready.shift();
      if (!queue) break;
      turn.push(queue);
      for (const batch of takeTurn(queue)) {
        count(taken, batch, 1);
        chosen.push(batch);
      }
    }
    wake();
    await insert(chosen);
    for (const queue of turn) {
      if (queue.batches.length > 0) ready.push(queue);
      else queues.delete(queue.partId);
    }
  };
  const work = async (): Promise<void> => {
    state.workers++;
    while (ready.length > 0 && !state.isGathering) {
      if (!isFull(waiting, perInsert)) {
        state.isGathering = true;
        await clock.sleep(gatherMs);
        state.isGathering = false;
      }
      await writeNext();
    }
    state.workers--;
  };
  function wake(): void {
    if (ready.length > 0 && !state.isGathering && state.workers < lanes) void work();
  }
  return {
    async write(partId, rows) {
      if (rows.length === 0) return;
      const known = queues.get(partId);
      const queue: Queue = known ?? { partId, batches: [], rows: 0, characters: 0 };
      if (isOver(waiting, mostWaiting) || isOver(queue, mostOfPart))
        throw new PlatformError('TOO_MANY_REQUESTS', { limit: `${queue.rows} log lines of this machine are waiting` });
      const { promise, resolve: done, reject: failed } = Promise.withResolvers<void>();
      const batch: Batch = { rows, characters: charactersOf(rows), done, failed };
      queue.batches.push(batch);
      for (const sum of [queue, waiting]) count(sum, batch, 1);
      if (!known) {
        queues.set(partId, queue);
        ready.push(queue);
      }
      wake();
      await promise;
    },
  };
}
