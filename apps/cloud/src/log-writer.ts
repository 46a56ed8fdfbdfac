import type { Clock } from '@platform/kit';
import { type Database, isDatabaseAway } from './store/database.ts';
import { insertLogs, type NewLogRow } from './store/part-logs.ts';

/** Lines of all machines go to the database together: a row costs a twentieth then. */
export type LogWriter = {
  /** Resolves when the lines are committed. */
  write(rows: readonly NewLogRow[]): Promise<void>;
};

type Batch = { rows: readonly NewLogRow[]; done: () => void; failed: (error: unknown) => void };

const gatherMs = 15;
const rowsPerInsert = 2_000;

export function logWriter(db: Database, clock: Clock): LogWriter {
  const waiting: Batch[] = [];
  const state = { isWriting: false };

  const insert = async (batches: readonly Batch[]): Promise<void> => {
    try {
      await insertLogs(
        db,
        batches.flatMap((batch) => batch.rows),
      );
      for (const batch of batches) batch.done();
    } catch (error) {
      // One sender's strange line must not fail the others.
      if (batches.length > 1 && !isDatabaseAway(error)) for (const batch of batches) await insert([batch]);
      else for (const batch of batches) batch.failed(error);
    }
  };
  const writeAll = async (): Promise<void> => {
    state.isWriting = true;
    while (waiting.length > 0) {
      await clock.sleep(gatherMs);
      const chosen: Batch[] = [];
      for (let count = 0; waiting.length > 0 && count < rowsPerInsert;) {
        const batch = waiting.shift();
        if (!batch) break;
        chosen.push(batch);
        count += batch.rows.length;
      }
      await insert(chosen);
    }
    state.isWriting = false;
  };
  return {
    write(rows) {
      if (rows.length === 0) return Promise.resolve();
      return new Promise((done, failed) => {
        waiting.push({ rows, done, failed });
        if (!state.isWriting) void writeAll();
      });
    },
  };
}
