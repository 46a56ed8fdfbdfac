import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { sql } from 'kysely';
import { PlatformError } from '@platform/contract/errors/errors';
import { systemClock } from '@platform/kit/node';
import { logWriter } from '../src/logs/log-writer.ts';
import type { NewLogRow } from '../src/logs/store/part-logs.ts';
import { testDatabase } from './database.ts';

for (const [what, count, message] of [
  ['many', 10_000, 'm'],
  ['long', 500, 'm'.repeat(15_000)],
] as const)
  test(`while the database takes nothing, ${what} lines are refused before they fill the memory`, async () => {
    await using database = await testDatabase();
    const partId = randomUUID();
    const row = (sequence: number): NewLogRow => ({
      partId,
      bootId: 'b',
      sequence,
      timeUs: 0,
      level: 'info',
      host: 'h',
      loggerName: 'l',
      message,
      rest: null,
    });
    const rows = Array.from({ length: count }, (_, n) => row(n));
    const writer = logWriter(database.db, systemClock);
    const writes: Promise<string>[] = [];
    await database.db.transaction().execute(async (held) => {
      await sql`lock table part_log in access exclusive mode`.execute(held);
      for (let n = 0; n < 14; n++) {
        const written = writer.write(partId, rows).then(
          () => 'taken',
          (error: unknown) => (error instanceof PlatformError ? error.code : String(error)),
        );
        writes.push(written);
      }
      assert.equal(await writes.at(-1), 'TOO_MANY_REQUESTS');
    });
    const outcomes = await Promise.all(writes);
    assert.deepEqual([...new Set(outcomes)], ['taken', 'TOO_MANY_REQUESTS']);
    assert.equal(await writer.write(partId, [row(1)]), undefined, 'and taken again afterwards');
  });
