import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { ExplainNode, type KyselyPlugin, SelectQueryNode, sql } from 'kysely';
import { readings } from '../src/data/store/tabular-data.ts';
import { testDatabase } from './database.ts';

/** Asks for the plan of each statement instead of its rows. */
const explained: KyselyPlugin = {
  transformQuery: ({ node }) => (SelectQueryNode.is(node) ? { ...node, explain: ExplainNode.create() } : node),
  transformResult: ({ result }) => Promise.resolve(result),
};

test('the readings of a resource come from an index in their order: the newest one costs no more than one row', async () => {
  await using on = await testDatabase();
  const of = {
    orgIds: [randomUUID()],
    partId: randomUUID(),
    resourceName: 'hatch',
    resourceSubtype: 'sensor',
    methodName: 'Readings',
    fromUs: undefined,
    untilUs: undefined,
  };
  const plan = await on.db.transaction().execute(async (trx) => {
    // Then a plan sorts only where it cannot do without.
    await sql`set local enable_sort = off`.execute(trx);
    return readings(trx.withPlugin(explained), of, { after: undefined, isAscending: false, limit: 1 });
  });
  const text = JSON.stringify(plan);
  assert.match(text, /Index Scan Backward/);
  assert.doesNotMatch(text, /Sort/);
});
