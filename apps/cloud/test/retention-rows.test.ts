// Rows of ended attempts, and expired rows: each sweep removes exactly the rows older than its limit.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { sql } from 'kysely';
import { MLTrainingService } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { cloudOptions } from '../src/options.ts';
import { sweepsOf } from '../src/retention/start.ts';
import { testLog } from './database.ts';
import { datasetOf, submission } from './training-data.ts';
import { trainingServer, type TrainingServer } from './training-server.ts';

const second = 1_000;
const day = 24 * 3_600_000;
const now = Date.parse('2026-06-15T12:00:00Z');
/** More rows than one step removes. */
const many = 2_300;
const ago = (ms: number) => sql<number>`to_timestamp(${(now - ms) / 1000}::double precision)`;

/** Runs the sweep of this name once. @returns the number of removed rows. */
async function sweep({ db, blobs, clock }: TrainingServer, name: string): Promise<number> {
  const found = sweepsOf({ db, blobs, clock, log: testLog }, cloudOptions([], {})).find((one) => one.name === name);
  let removed = 0;
  for await (const count of found?.steps(now) ?? assert.fail(name)) removed += count;
  return removed;
}

type Ended = { name: string; endedMs: number | null; state: string; rows: number };
const jobs: readonly Ended[] = [
  { name: 'long ago', endedMs: 400 * day, state: 'completed', rows: many },
  { name: 'a second too long ago', endedMs: 90 * day + second, state: 'failed', rows: 3 },
  { name: 'a second within the limit', endedMs: 90 * day - second, state: 'canceled', rows: 3 },
  { name: 'log lines a second too old', endedMs: 7 * day + second, state: 'completed', rows: 3 },
  { name: 'log lines a second within', endedMs: 7 * day - second, state: 'completed', rows: 3 },
  { name: 'has run for a year', endedMs: null, state: 'in_progress', rows: 3 },
  { name: 'has waited for a year', endedMs: null, state: 'pending', rows: 3 },
];

async function fill(server: TrainingServer): Promise<Map<string, string>> {
  const { db, own } = server;
  const datasetId = await datasetOf(server, { a: 10, b: 10 });
  const training = server.client(MLTrainingService, 'owner');
  const ids = new Map<string, string>();
  for (const { name, endedMs, state, rows } of jobs) {
    const { id } = await training.submitTrainingJob(
      submission(server, datasetId, { modelName: name.replaceAll(' ', '-') }),
    );
    ids.set(name, id);
    const ended = endedMs === null ? sql<number | null>`null` : ago(endedMs);
    const isHeld = state === 'in_progress';
    await sql`update training_job set state = ${state}, ended_on = ${ended}, runner_id = ${isHeld ? 'r' : null},
      lease_until = case when ${isHeld} then now() end where id = ${id}`.execute(db);
    await sql`delete from training_event where job_id = ${id}`.execute(db);
    await sql`delete from training_log where job_id = ${id}`.execute(db);
    const time = ago(endedMs ?? 365 * day);
    const of = sql`${own.orgId}::uuid, ${id}::uuid`;
    const series = sql`generate_series(1, ${rows}::int) n`;
    await sql`insert into training_metric (org_id, job_id, attempt, sequence, time, values) select ${of}, 1, n, ${time}, '{}' from ${series}`.execute(
      db,
    );
    await sql`insert into training_log (org_id, job_id, attempt, sequence, time, level, message) select ${of}, 1, n, ${time}, 'info', 'x' from ${series}`.execute(
      db,
    );
    await sql`insert into training_event (org_id, job_id, at, event, to_state, attempt, actor) select ${of}, ${time}, 'x', 'y', 1, 'z' from ${series}`.execute(
      db,
    );
    await sql`insert into attempt_key (org_id, job_id, attempt, id, key_hash) values (${of}, 1, ${randomUUID()}, ${randomBytes(32)})`.execute(
      db,
    );
  }
  // Transitions of a deleted job expire by their own age.
  for (const ms of [90 * day + second, 90 * day - second])
    await sql`insert into training_event (org_id, job_id, at, event, to_state, attempt, actor)
      values (${own.orgId}::uuid, ${randomUUID()}::uuid, ${ago(ms)}, 'of no job', 'y', 1, 'z')`.execute(db);
  return ids;
}

async function rowsOf(server: TrainingServer, ids: ReadonlyMap<string, string>): Promise<Record<string, number[]>> {
  const { db } = server;
  const found: Record<string, number[]> = {};
  const count = async (table: string, id: string): Promise<number> => {
    const { rows } = await sql<{
      n: number;
    }>`select count(*)::int as n from ${sql.table(table)} where job_id = ${id}`.execute(db);
    return rows[0]?.n ?? -1;
  };
  for (const [name, id] of ids)
    found[name] = await Promise.all(
      ['training_log', 'training_metric', 'training_event', 'attempt_key'].map((table) => count(table, id)),
    );
  return found;
}

test('log lines, metrics, transitions and keys of ended jobs go at their limits; jobs that run keep all', async () => {
  await using server = await trainingServer();
  const ids = await fill(server);
  const every = Object.fromEntries(jobs.map(({ name, rows }) => [name, [rows, rows, rows, 1]]));
  assert.deepEqual(await rowsOf(server, ids), every);

  assert.equal(await sweep(server, 'log lines of jobs'), many + 3 + 3 + 3);
  const withoutLines = { ...every };
  for (const { name, rows, endedMs } of jobs) if ((endedMs ?? 0) > 7 * day) withoutLines[name] = [0, rows, rows, 1];
  assert.deepEqual(await rowsOf(server, ids), withoutLines);

  assert.equal(await sweep(server, 'rows of ended attempts'), 2 * (many + 3) + 2 + 1);
  const left = { ...withoutLines, 'long ago': [0, 0, 0, 0], 'a second too long ago': [0, 0, 0, 0] };
  assert.deepEqual(await rowsOf(server, ids), left);
  const orphans = await sql`select from training_event where event = 'of no job'`.execute(server.db);
  assert.equal(orphans.rows.length, 1);
  const { rows: kept } = await sql`select from training_job`.execute(server.db);
  assert.equal(kept.length, jobs.length, 'the jobs themselves stay');
  assert.equal(await sweep(server, 'rows of ended attempts'), 0);
});

test('sessions, sign-in links and runners go 30 days after their end, and no others', async () => {
  await using server = await trainingServer();
  const { db, own } = server;
  const userId = randomUUID();
  await sql`insert into person (id, name) values (${userId}, 'p')`.execute(db);
  const ages = [
    ['30 days and a second', 30 * day + second],
    ['a second less than 30 days', 30 * day - second],
    ['yesterday', day],
    ['tomorrow', -day],
  ] as const;
  const hash = (name: string) => sql`convert_to(${name}, 'utf8')`;
  const insert = async (name: string, ms: number): Promise<void> => {
    const time = ago(ms);
    for (const table of ['browser_session', 'sign_in_link'])
      await sql`insert into ${sql.table(table)} (token_hash, person_id, expires_on, signed_in_on) values (${hash(name)}, ${userId}, ${time}, ${time})`.execute(
        db,
      );
    await sql`insert into runner (org_id, id, host, version, executor, kinds, gpus, containers, no_scripts_because, last_seen)
      values (${own.orgId}, ${name}, '', '', 'local', '{}', 0, '[]', '', ${time})`.execute(db);
  };
  for (const [name, ms] of ages) await insert(name, ms);
  await sql`insert into browser_session (token_hash, person_id, expires_on, signed_in_on)
    select convert_to('old ' || n, 'utf8'), ${userId}, ${ago(100 * day)}, ${ago(100 * day)} from generate_series(1, ${many}::int) n`.execute(
    db,
  );
  assert.equal(await sweep(server, 'expired sessions, links and runners'), many + 3);
  const namesIn = async (table: string, column: 'token_hash' | 'id'): Promise<string[]> => {
    const name = column === 'id' ? sql`id` : sql`convert_from(token_hash, 'utf8')`;
    const { rows } = await sql<{ name: string }>`select ${name} as name from ${sql.table(table)} order by 1`.execute(
      db,
    );
    return rows.map((row) => row.name);
  };
  const expected = ages
    .slice(1)
    .map(([name]) => name)
    .toSorted();
  assert.deepEqual(await namesIn('browser_session', 'token_hash'), expected);
  assert.deepEqual(await namesIn('sign_in_link', 'token_hash'), expected);
  assert.deepEqual(await namesIn('runner', 'id'), expected);
});
