import type { Clock } from '@platform/kit';
import { ArrivalClock } from './arrival-clock.ts';
import { partitionDay } from './rules/log-days.ts';
import { type Database, isDatabaseAway } from '../database/database.ts';
import { dayWriter } from '../database/day-partitions.ts';
import { readLatestTime } from './store/latest-time.ts';
import type { NewLogRow } from './store/part-logs.ts';
import { storeLines } from './store/repeated-lines.ts';
import { PlatformError } from '@platform/contract/errors/errors';

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

/** Lines of one part that one call sent. */
type Batch = {
  rows: readonly NewLogRow[];
  characters: number;
  done: () => void;
  failed: (error: unknown) => void;
};
/** Size of what is waiting, of one part or of all. */
type Waiting = { rows: number; characters: number };
/** Lines of one part, in order of arrival. */
type Queue = Waiting & { partId: string; batches: Batch[] };

/** The waiting lines of all parts. A part is in one turn at a time: this keeps its lines in order. */
type LineQueues = {
  /** @throws PlatformError TOO_MANY_REQUESTS */
  add(partId: string, batch: Batch): void;
  /** Whether lines wait whose part has no turn in progress. */
  hasReady(): boolean;
  /** Whether enough lines wait to fill an insert. */
  fillsInsert(): boolean;
  /** Takes the batches of the next insert. Call `end` after it. */
  takeTurn(): { batches: Batch[]; end(): void };
};

const perInsert: Waiting = { rows: 5_000, characters: 2 ** 23 };
/** Share of a part in each insert, so that a part that sends constantly cannot delay the others. */
const perPart: Waiting = { rows: 1_000, characters: 2 ** 20 };
/** Limit of the lines in memory while the database is stalled. Machines resend rejected lines. */
const mostWaiting: Waiting = { rows: 200_000, characters: 2 ** 27 };
const mostOfPart: Waiting = { rows: 10_000, characters: 2 ** 24 };

const isOver = (waiting: Waiting, most: Waiting): boolean =>
  waiting.rows > most.rows || waiting.characters > most.characters;
const isFull = (taken: Waiting, most: Waiting): boolean =>
  taken.rows >= most.rows || taken.characters >= most.characters;
const count = (of: Waiting, { rows, characters }: Batch, sign: 1 | -1): void => {
  of.rows += sign * rows.length;
  of.characters += sign * characters;
};

function lineQueues(): LineQueues {
  const queues = new Map<string, Queue>();
  /** Queues with lines and no turn in progress. */
  const ready: Queue[] = [];
  const waiting: Waiting = { rows: 0, characters: 0 };

  const takeFrom = (queue: Queue): Batch[] => {
    const taken: Waiting = { rows: 0, characters: 0 };
    const batches: Batch[] = [];
    while (!isFull(taken, perPart)) {
      const batch = queue.batches.shift();
      if (!batch) break;
      for (const sum of [queue, waiting]) count(sum, batch, -1);
      count(taken, batch, 1);
      batches.push(batch);
    }
    return batches;
  };
  const end = (turn: readonly Queue[]): void => {
    for (const queue of turn) {
      if (queue.batches.length > 0) ready.push(queue);
      else queues.delete(queue.partId);
    }
  };

  return {
    hasReady: () => ready.length > 0,
    fillsInsert: () => isFull(waiting, perInsert),
    add(partId, batch) {
      const known = queues.get(partId);
      const queue: Queue = known ?? { partId, batches: [], rows: 0, characters: 0 };
      if (isOver(waiting, mostWaiting) || isOver(queue, mostOfPart))
        throw new PlatformError('TOO_MANY_REQUESTS', { limit: `${queue.rows} log lines of this machine are waiting` });
      queue.batches.push(batch);
      for (const sum of [queue, waiting]) count(sum, batch, 1);
      if (known) return;
      queues.set(partId, queue);
      ready.push(queue);
    },
    takeTurn() {
      const turn: Queue[] = [];
      const batches: Batch[] = [];
      const taken: Waiting = { rows: 0, characters: 0 };
      while (!isFull(taken, perInsert)) {
        const queue = ready.shift();
        if (!queue) break;
        turn.push(queue);
        for (const batch of takeFrom(queue)) {
          count(taken, batch, 1);
          batches.push(batch);
        }
      }
      return { batches, end: () => end(turn) };
    },
  };
}
