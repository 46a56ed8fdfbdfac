// One machine floods its log next to nine idle ones: the server throttles it, and the others are not affected.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import test from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { createClient } from '@connectrpc/connect';
import { Client } from 'pg';
import { LogRequestSchema, RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { attackRounds } from '../../../e2e/src/attack-rounds.ts';
import { appRole } from '../src/postgres/access-rules.ts';
import { clientConfig } from '../src/database/database.ts';
import { cloudProcess } from './process.ts';
import { transportTo } from './server.ts';

const quietMachines = 9;
const floodConnections = 8;
const linesPerCall = 1_000;
const phaseMs = attackRounds(30_000, 8_000);

type Machine = { partId: string; token: string };
type Phase = { waits: number[]; isOver(): boolean };

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

test('one machine floods its log beside nine quiet ones', { timeout: 180_000 }, async (t) => {
  await using folder = await tempFolder();
  const data = folder.file('data');
  const server = cloudProcess(data);
  const ready = (await server.ready) ?? assert.fail(server.stderr());
  try {
    const tokenOf = async (entity: string, type: string, payload: string): Promise<string> =>
      (await createClient(AuthService, transportTo(ready.url)).authenticate({ entity, credentials: { type, payload } }))
        .accessToken;
    const owner = await tokenOf(ready.api_key_id, 'api-key', ready.api_key);
    const fleet = createClient(FleetService, transportTo(ready.url, owner));
    const machineOf = async (name: string): Promise<Machine> => {
      const { credentialsJson } = await fleet.createMachine({ organizationId: ready.org_id, name });
      const { cloud } = JSON.parse(credentialsJson) as { cloud: { id: string; secret: string } };
      return { partId: cloud.id, token: await tokenOf(cloud.id, 'robot-secret', cloud.secret) };
    };
    const flooder = await machineOf('flooder');
    const quiet: Machine[] = [];
    for (let n = 0; n < quietMachines; n++) quiet.push(await machineOf(`quiet ${n}`));

    /** Acknowledged lines, by boot id. */
    const acknowledged = new Map<string, number>();
    const speak = async ({ partId, token }: Machine, { waits, isOver }: Phase): Promise<void> => {
      const robot = createClient(RobotService, transportTo(ready.url, token));
      const bootId = randomUUID();
      for (let sequence = 1; !isOver(); sequence++) {
        const began = systemClock.now();
        await robot.log({ id: partId, logs: [{ message: 'all is well', bootId, sequence: BigInt(sequence) }] });
        waits.push(systemClock.now() - began);
        acknowledged.set(bootId, sequence);
        await systemClock.sleep(100);
      }
    };
    const phase = async (others: (phase: Phase) => Promise<unknown>): Promise<number[]> => {
      const end = systemClock.now() + phaseMs;
      const now: Phase = { waits: [], isOver: () => systemClock.now() > end };
      await Promise.all([...quiet.map((one) => speak(one, now)), others(now)]);
      return now.waits;
    };

    const refusals = new Map<string, number>();
    const flood = async ({ isOver }: Phase): Promise<void> => {
      const text = 'x'.repeat(200);
      while (!isOver()) {
        const bootId = randomUUID();
        const logs = Array.from({ length: linesPerCall }, (_, n) => ({
          message: text,
          bootId,
          sequence: BigInt(n + 1),
        }));
        const answer = await fetch(`${ready.url}/${RobotService.typeName}/Log`, {
          method: 'POST',
          headers: { 'content-type': 'application/proto', authorization: `Bearer ${flooder.token}` },
          body: toBinary(LogRequestSchema, create(LogRequestSchema, { id: flooder.partId, logs })),
        });
        const body = await answer.text();
        if (answer.status === 200) acknowledged.set(bootId, linesPerCall);
        else {
          const reason = `${answer.status} ${/[A-Z_]+(?=: )/.exec(body)?.[0]}`;
          refusals.set(reason, (refusals.get(reason) ?? 0) + 1);
          assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
        }
      }
    };
    const before = await phase(() => Promise.resolve());
    const during = await phase((now) => Promise.all(Array.from({ length: floodConnections }, () => flood(now))));
    const line = (values: readonly number[]): string =>
      `${values.length} calls, p50 ${percentile(values, 0.5).toFixed(1)} ms, p99 ${percentile(values, 0.99).toFixed(1)} ms`;
    const lines = [...acknowledged.values()].reduce((sum, many) => sum + many, 0);
    t.diagnostic(`quiet: ${line(before)}`);
    t.diagnostic(`beside the flood: ${line(during)}`);
    t.diagnostic(`refused: ${JSON.stringify([...refusals])}; ${lines} lines acknowledged`);
    assert.deepEqual([...refusals.keys()], ['429 BUDGET_EXCEEDED']);

    const host = `${data}/postgres/18`;
    const database = new Client(clientConfig({ is: 'socket', host, port: 5432, user: appRole, database: 'platform' }));
    await database.connect();
    const { rows } = await database.query<{ boot_id: string; lines: string }>(
      'select boot_id, count(*) as lines from part_log where boot_id is not null group by boot_id',
    );
    await database.end();
    const stored = new Map(rows.map((row) => [row.boot_id, Number(row.lines)]));
    const lost = [...acknowledged].filter(([bootId, many]) => stored.get(bootId) !== many);
    assert.deepEqual(lost, []);
  } finally {
    server.child.kill('SIGTERM');
  }
  assert.equal(await server.exit, 0);
});
