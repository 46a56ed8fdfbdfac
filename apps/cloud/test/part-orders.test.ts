// Orders of operators: given to the agent once, followed until they are done, refused where the agent cannot do them.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { sql } from 'kysely';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import {
  type AgentReportSchema,
  FleetService,
  OrderKind,
  OrderState,
  ServerState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { deriveOrder, orderLifeMs, type PartOrderRow } from '../src/machines/rules/part-orders.ts';
import { type TestServer, testServer } from './server.ts';

const { RESTART_AGENT, REBOOT, RESTART_SERVER } = OrderKind;
const { WAITING, BEGUN, DONE, FAILED, EXPIRED } = OrderState;
const knows = { knownOrders: [RESTART_AGENT, REBOOT] };

type Reported = Pick<
  Exclude<MessageInitShape<typeof AgentReportSchema>, { $typeName: string }>,
  'knownOrders' | 'orders' | 'server' | 'serverState'
>;

async function machineOf(on: TestServer) {
  const { machineId, partId, part } = await on.machine('press 4');
  const fleet = await on.client(FleetService);
  const agent = await on.client(AgentDeviceService, part);
  const hostInfo = { platform: 'linux/amd64', distro: 'debian:12', tags: ['platform-agent'] };
  return {
    partId,
    part,
    fleet,
    order: (kind: OrderKind) => fleet.orderPart({ partId, kind }),
    report: (report: Reported) => agent.deviceAgentConfig({ id: partId, hostInfo, report: { ...knows, ...report } }),
    check: async () =>
      (await agent.deviceAgentConfig({ id: partId, hostInfo })).orders.map(({ id, kind }) => [id, kind]),
    states: async () =>
      Object.fromEntries(
        ((await fleet.getMachine({ id: machineId })).machine?.orders ?? []).map((one) => [one.kind, one]),
      ),
  };
}

test('an order waits, is given until the agent has begun, and is followed until it is done', async () => {
  await using on = await testServer();
  const { order, report, check, states } = await machineOf(on);
  await report({});
  const { order: made } = await order(RESTART_AGENT);
  assert.equal(made?.state, WAITING);
  assert.equal(timestampMs(made.until!) - timestampMs(made.requestedOn!), orderLifeMs);
  assert.match(made.requestedBy, /^api_key /);
  assert.deepEqual(await check(), [[made.id, RESTART_AGENT]]);
  assert.deepEqual(await check(), [[made.id, RESTART_AGENT]], 'until the agent reports it: an answer may be lost');

  await report({ orders: [{ id: made.id, state: BEGUN }] });
  assert.equal((await states())[RESTART_AGENT]?.state, BEGUN);
  // The cached answer is built anew a moment later.
  while ((await check()).length > 0);
  await report({ orders: [{ id: made.id, state: DONE }] });
  await report({ orders: [{ id: made.id, state: BEGUN }] });
  assert.equal((await states())[RESTART_AGENT]?.state, DONE, 'an older report does not undo it');

  const { order: reboot } = await order(REBOOT);
  const { order: again } = await order(REBOOT);
  assert.notEqual(reboot?.id, again?.id);
  assert.deepEqual(await check(), [[again?.id, REBOOT]], 'the newest of its kind');
  await report({ orders: [{ id: again?.id ?? '', state: FAILED, reason: 'systemctl reboot failed: no.' }] });
  const failed = (await states())[REBOOT];
  assert.deepEqual([failed?.state, failed?.reason], [FAILED, 'systemctl reboot failed: no.']);
  await report({
    orders: [
      { id: 'no order', state: DONE },
      { id: made.id, state: 99 as OrderState },
    ],
  });

  const { entries } = await (await on.client(AuditService)).listAuditEntries({ organizationId: on.orgId });
  const audited = entries.map(({ action }) => action).filter((action) => action.startsWith('order '));
  assert.deepEqual(audited.toSorted(), ['order reboot', 'order reboot', 'order restart agent']);
});

test('an agent that cannot do it: the order is refused, with the reason', async () => {
  await using on = await testServer();
  const { order, report } = await machineOf(on);
  await assert.rejects(order(REBOOT), /no agent has reported for it yet/);
  await report({ knownOrders: [] });
  await assert.rejects(
    order(RESTART_AGENT),
    /"press 4" cannot carry out the command "restart agent": its agent .* is too old|cannot carry out the command/,
  );
  await report({ knownOrders: [RESTART_AGENT] });
  await assert.rejects(order(REBOOT), /cannot do it on this machine/);
  await order(RESTART_AGENT);
  await assert.rejects(order(RESTART_SERVER), /RestartPart/);
});

test('an order that no machine took within an hour is void', async () => {
  await using on = await testServer();
  const { partId, order, report, check, states } = await machineOf(on);
  await report({});
  await order(REBOOT);
  await sql`update part_order set requested_on = now() - interval '61 min' where part_id = ${partId}`.execute(on.db);
  assert.deepEqual(await check(), []);
  const expired = (await states())[REBOOT];
  assert.equal(expired?.state, EXPIRED);
  assert.match(expired.reason, /within an hour/);
});

test('a restart of the machine server is followed like the others', async () => {
  await using on = await testServer();
  const { partId, part, fleet, report, states } = await machineOf(on);
  const state = async () => (await states())[RESTART_SERVER]?.state;
  const running = (uptimeMs: number) =>
    report({ serverState: ServerState.RUNNING, server: { uptime: durationFromMs(uptimeMs) } });
  await running(60_000);
  await fleet.restartPart({ partId });
  await running(60_000);
  assert.equal(await state(), WAITING);
  await (await on.client(RobotService, part)).needsRestart({ id: partId });
  assert.equal(await state(), BEGUN);
  await running(60_000);
  assert.equal(await state(), BEGUN, 'the server of before still runs');
  await running(0);
  assert.equal(await state(), DONE);
});

test('the restart of a machine server without our agent is done once it was taken: no report follows', async () => {
  await using on = await testServer();
  const { partId, part, fleet, states } = await machineOf(on);
  const agent = await on.client(AgentDeviceService, part);
  await agent.deviceAgentConfig({ id: partId, hostInfo: { platform: 'linux/amd64', tags: [] } });
  await fleet.restartPart({ partId });
  assert.ok((await (await on.client(RobotService, part)).needsRestart({ id: partId })).mustRestart);
  assert.equal((await states())[RESTART_SERVER]?.state, DONE);
});

const row: PartOrderRow = {
  id: 'a',
  kind: 'reboot',
  requestedBy: 'x',
  requestedOn: 1_000_000,
  state: 'waiting',
  since: 1_000_000,
  reason: '',
};
const minute = 60_000;
const derived: [what: string, order: Partial<PartOrderRow>, afterMs: number, state: OrderState | undefined][] = [
  ['waits', {}, orderLifeMs - 1, WAITING],
  ['expires', {}, orderLifeMs, EXPIRED],
  ['is begun', { state: 'begun' }, 15 * minute - 1, BEGUN],
  ['has not come back', { state: 'begun' }, 15 * minute, FAILED],
  ['an agent has not come back', { state: 'begun', kind: 'restart agent' }, 5 * minute, FAILED],
  ['done, of yesterday', { state: 'done' }, 24 * 3_600_000, DONE],
  ['done, older', { state: 'done' }, 24 * 3_600_000 + 1, undefined],
];
for (const [what, order, afterMs, state] of derived)
  test(`the state of an order: ${what}`, () => {
    const found = deriveOrder({ ...row, ...order }, row.requestedOn + afterMs);
    assert.equal(found?.state, state);
    if (found) assert.equal(found.until !== undefined, state === WAITING || state === BEGUN);
    if (state === FAILED || state === EXPIRED) assert.match(found?.reason ?? '', /\.$/);
  });
