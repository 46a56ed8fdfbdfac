import { PlatformError } from '@platform/contract/errors';
import type { Clock } from '@platform/kit';
import { type Database, isDatabaseAway } from './store/database.ts';
import { insertLogs, type NewLogRow } from './store/part-logs.ts';

/** Lines of all machines go to the database together: a row costs a twentieth then. */
export type LogWriter = {
  /** Resolves when the lines, all of this part, are committed. */
  write(partId: string, rows: readonly NewLogRow[]): Promise<void>;
};

type Batch = { rows: readonly NewLogRow[]; characters: number; done: () => void; failed: (error: unknown) => void };

const gatherMs = 15;
const rowsPerInsert = 5_000;
/** Of their texts: lines may be long. */
const charactersPerInsert = 2 ** 23;
/** Statements at once: while one waits for the disk, the other works. */
const lanes = 2;
/** Of a lane. A database that takes nothing must not fill the memory with lines that their machines send again anyway. */
const mostWaiting = 100_000;
const mostCharactersWaiting = 2 ** 26;

export function logWriter(db: Database, clock: Clock): LogWriter {
  const all = Array.from({ length: lanes }, () => lane(db, clock));
  return {
    write(partId, rows) {
      if (rows.length === 0) return Promise.resolve();
      // The lines of a part stay in their order: always the same lane.
      const own = all[(partId.codePointAt(partId.length - 1) ?? 0) % lanes];
      return new Promise((done, failed) => own?.({ rows, characters: charactersOf(rows), done, failed }));
    },
  };
}

const charactersOf = (rows: readonly NewLogRow[]): number =>
  rows.reduce((sum, { message, rest }) => sum + message.length + (rest?.length ?? 0), 0);

function lane(db: Database, clock: Clock): (batch: Batch) => void {
  const waiting: Batch[] = [];
  const state = { isWriting: false, rows: 0, characters: 0 };

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
      if (state.rows < rowsPerInsert && state.characters < charactersPerInsert) await clock.sleep(gatherMs);
      const chosen: Batch[] = [];
      for (let rows = 0, characters = 0; rows < rowsPerInsert && characters < charactersPerInsert;) {
        const batch = waiting.shift();
        if (!batch) break;
        chosen.push(batch);
        rows += batch.rows.length;
        characters += batch.characters;
        state.rows -= batch.rows.length;
        state.characters -= batch.characters;
      }
      await insert(chosen);
    }
    state.isWriting = false;
  };
  return (batch) => {
    if (state.rows > mostWaiting || state.characters > mostCharactersWaiting)
      return batch.failed(new PlatformError('TOO_MANY_REQUESTS', { limit: `${state.rows} log lines are waiting` }));
    waiting.push(batch);
    state.rows += batch.rows.length;
    state.characters += batch.characters;
    if (!state.isWriting) void writeAll();
  };
}
