// kill −9 of the server and its database while it moves old log lines to their daily partitions: each line stays, once.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { createClient } from '@connectrpc/connect';
import { Client } from 'pg';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';
import { seededRandom, tempFolder } from '@platform/kit/testing';
import { appRole } from '../src/postgres/access-rules.ts';
import { readPostmaster } from '../src/postgres/postmaster.ts';
import { clientConfig } from '../src/database/database.ts';
import { cloudProcess, type ReadyLine } from './process.ts';
import { transportTo } from './server.ts';

const lines = 20_000;
const mostRounds = 40;

async function machineOf(ready: ReadyLine): Promise<string> {
  const { accessToken } = await createClient(AuthService, transportTo(ready.url)).authenticate({
    entity: ready.api_key_id,
    credentials: { type: 'api-key', payload: ready.api_key },
  });
  const fleet = createClient(FleetService, transportTo(ready.url, accessToken));
  const { machine } = await fleet.createMachine({ organizationId: ready.org_id, name: 'm' });
  return machine?.partId ?? '';
}

test('kill −9 while old log lines are moved loses and doubles none', { timeout: 240_000 }, async () => {
  await using folder = await tempFolder();
  const data = folder.file('data');
  const host = path.join(data, 'postgres', '18');
  const random = seededRandom(12);
  const ask = async <T>(question: (database: Client) => Promise<T>): Promise<T> => {
    const database = new Client(clientConfig({ is: 'socket', host, port: 5432, user: appRole, database: 'platform' }));
    database.on('error', () => {});
    await database.connect();
    try {
      return await question(database);
    } finally {
      await database.end().catch(() => {});
    }
  };
  const counts = () =>
    ask(async (database) => {
      const { rows } = await database.query<{ old: number; moved: number; different: number; right: number }>(
        `select (select count(*)::int from part_log_undated) as old, (select count(*)::int from part_log where boot_id = 'old') as moved,
           count(distinct sequence)::int as different, count(*) filter (where message = 'line ' || sequence)::int as right
         from (select sequence, message from part_log_undated
               union all select sequence, message from part_log where boot_id = 'old') line`,
      );
      return rows[0] ?? assert.fail();
    });

  let moved = 0;
  let cuts = 0;
  for (let round = 0; round < mostRounds; round++) {
    const server = cloudProcess(data);
    const ready = (await server.ready) ?? assert.fail(server.stderr());
    if (round === 0) {
      const partId = await machineOf(ready);
      await ask(async (database) => {
        await database.query(
          `insert into part_log_undated (id, org_id, part_id, boot_id, sequence, time, level, host, logger_name, message)
           select n, $1, $2, 'old', n, now() - n * interval '10 s', 'info', 'h', 'l', 'line ' || n from generate_series(1, $3::int) n`,
          [ready.org_id, partId, lines],
        );
        await database.query(`select setval('part_log_line_id', $1)`, [lines]);
      });
    } else await systemClock.sleep(Math.floor(random() * 700));
    const isDatabaseToo = round % 3 === 2;
    const database = isDatabaseToo ? await readPostmaster(host) : undefined;
    process.kill(server.pid, 'SIGKILL');
    if (database) process.kill(database.pid, 'SIGKILL');
    await server.exit;
    if (isDatabaseToo) continue;
    const found = await counts();
    assert.deepEqual([found.old + found.moved, found.different, found.right], [lines, lines, lines], `round ${round}`);
    if (found.moved > moved && found.old > 0) cuts++;
    moved = found.moved;
    if (found.old === 0) break;
  }
  assert.ok(cuts > 0, 'a move was cut');
  const server = cloudProcess(data);
  assert.ok(await server.ready, server.stderr());
  const end = await counts();
  assert.deepEqual(end, { old: 0, moved: lines, different: lines, right: lines });
  server.child.kill('SIGTERM');
  assert.equal(await server.exit, 0);
});
