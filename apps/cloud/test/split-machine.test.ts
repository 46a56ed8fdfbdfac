// Two computers with the credentials of one machine: one of them becomes a machine of its own.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { sql } from 'kysely';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { FleetService, OnlineState, OrderKind } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { codeHeader, deviceHeader, redeemPath } from '@platform/contract/provisioning/set-up-code';
import { failure } from './failure.ts';
import { testServer, type TestServer } from './server.ts';

const [first, second] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
const config = '{"agent": {"advanced_settings": {"debug": true}}}';

/** What the server has stored when two runs have alternated for a while. */
async function share(on: TestServer, partId: string): Promise<void> {
  for (const [runId, name, began] of [
    [first, 'twin-a', 600],
    [second, 'twin-b', 300],
  ] as const)
    await sql`
      insert into part_run (part_id, run_id, first_seen, last_sent, returned_on, hostname, address, link_addresses)
      values (${partId}, ${runId}, now() - make_interval(secs => ${began}), now(),
        ${runId === first ? sql`now() - interval '2 minutes'` : null}, ${name}, '192.0.2.7', ${['10.0.0.5/24']})
      on conflict (part_id, run_id) do update set last_sent = now(), returned_on = excluded.returned_on`.execute(on.db);
}

async function redeem(url: string, code: string, device = randomBytes(32).toString('base64url')) {
  const answer = await fetch(`${url}${redeemPath}`, {
    method: 'POST',
    headers: { [codeHeader]: code, [deviceHeader]: device },
  });
  return { status: answer.status, text: await answer.text() };
}

async function world() {
  const on = await testServer();
  const fleet = await on.client(FleetService);
  const machine = await on.machine('camera');
  const agent = await on.client(AgentDeviceService, machine.part);
  const host = { hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] } };
  const check = (runId: Uint8Array, more: object = {}) =>
    agent.deviceAgentConfig({ id: machine.partId, ...host, runId, agentUptime: durationFromMs(1), ...more });
  const codes = async () => (await fleet.getMachine({ id: machine.machineId })).machine?.conditions ?? [];
  return { on, fleet, ...machine, check, codes, [Symbol.asyncDispose]: () => on[Symbol.asyncDispose]() };
}

test('the condition names both, also in lists; the computer that appeared last gets a code, and no other one', async () => {
  await using w = await world();
  const { on, fleet, machineId, partId, check } = w;
  await fleet.saveConfig({ partId, configJson: config });
  assert.equal(await failure(fleet.splitMachine({ id: machineId })), 'FailedPrecondition IDENTITY_NOT_SHARED');
  await share(on, partId);
  for (const { conditions, sharedIdentity } of [
    (await fleet.getMachine({ id: machineId })).machine!,
    (await fleet.listMachines({ organizationId: on.orgId })).machines[0]!,
  ]) {
    assert.match(
      conditions[0]?.message ?? '',
      /twin-a \(192\.0\.2\.7; its own addresses: 10\.0\.0\.5\/24\) and twin-b/,
    );
    assert.match(conditions[0]?.message ?? '', /The status shown is that of twin-a/);
    assert.match(conditions[0]?.remedy ?? '', /platform machine split camera/);
    assert.equal(conditions[0]?.code, 'IDENTITY_SHARED');
    assert.deepEqual(
      sharedIdentity?.runs.map(({ hostname }) => hostname),
      ['twin-a', 'twin-b'],
    );
  }
  // A long poll of the second one that waits while a user splits them.
  const { fingerprint } = await check(second);
  const held = check(second, { knownFingerprint: fingerprint, wait: durationFromMs(50_000) });
  const split = await fleet.splitMachine({ id: machineId });
  assert.deepEqual([split.name, split.run?.hostname, split.kept?.hostname], ['camera-2', 'twin-b', 'twin-a']);
  const { setUpCode, notModified } = await held;
  assert.match(setUpCode, /^[A-Z]{8}$/);
  assert.equal(notModified, true);
  assert.equal((await check(first)).setUpCode, '');
  assert.equal((await check(new Uint8Array())).setUpCode, '');
  assert.equal((await check(second)).setUpCode, setUpCode, 'again, until it is redeemed');
  assert.equal((await fleet.getConfig({ partId: split.partId })).configJson, config);
  assert.match((await w.codes())[0]?.message ?? '', /becomes machine camera-2 when it checks in again/);

  const device = randomBytes(32).toString('base64url');
  const redeemed = await redeem(on.url, setUpCode, device);
  assert.equal(redeemed.status, 200);
  assert.equal(redeemed.text, (await fleet.getCredentials({ partId: split.partId })).credentialsJson);
  assert.deepEqual(await redeem(on.url, setUpCode, device), redeemed, 'after a power cut');
  assert.equal((await redeem(on.url, setUpCode)).status, 404, 'another device');
  assert.deepEqual(await w.codes(), [], 'it has ended');
  const { machine: kept } = await fleet.getMachine({ id: machineId });
  assert.equal(kept?.onlineState, OnlineState.ONLINE);
  assert.equal(kept?.sharedIdentity, undefined);
  const { entries } = await (await on.client(AuditService)).listAuditEntries({ organizationId: on.orgId });
  assert.ok(entries.some(({ action, subject }) => action === 'split machine' && subject === machineId));
});

test('clicked twice, by two at once, and after the second one was restarted: one new machine', async () => {
  await using w = await world();
  await share(w.on, w.partId);
  const made = await Promise.all([1, 2, 3].map(() => w.fleet.splitMachine({ id: w.machineId, name: 'other' })));
  assert.equal(new Set(made.map(({ partId }) => partId)).size, 1);
  const { setUpCode: before } = await w.check(second);
  const third = Buffer.alloc(16, 3);
  await sql`update part_run set run_id = ${third} where run_id = ${second}`.execute(w.on.db);
  const again = await w.fleet.splitMachine({ id: w.machineId });
  assert.deepEqual([again.name, again.partId], ['other', made[0]?.partId]);
  const { setUpCode } = await w.check(third);
  assert.notEqual(setUpCode, before);
  assert.equal((await w.check(second)).setUpCode, '');
  assert.equal((await redeem(w.on.url, before)).status, 404);
  assert.equal((await redeem(w.on.url, setUpCode)).status, 200);
  assert.equal((await w.fleet.listMachines({ organizationId: w.on.orgId })).machines.length, 2);
});

test('a computer that is offline for days gets a code that is valid when it comes back', async () => {
  await using w = await world();
  await share(w.on, w.partId);
  const { partId } = await w.fleet.splitMachine({ id: w.machineId, withoutConfig: true });
  assert.equal((await w.fleet.getSetUp({ partId })).expiresOn, undefined, 'no code exists before it is sent');
  assert.equal((await w.fleet.getConfig({ partId })).revision, 0n);
  await sql`update part_run set last_sent = now() - interval '3 days'`.execute(w.on.db);
  assert.deepEqual(await w.codes(), []);
  const { setUpCode } = await w.check(second);
  assert.equal((await redeem(w.on.url, setUpCode)).status, 200);
});

test('the status of a shared machine is that of its first computer, which sends it again', async () => {
  await using w = await world();
  const report = (runId: Uint8Array, hostname: string, uptimeMs: number) =>
    w.check(runId, { report: { hostname }, agentUptime: durationFromMs(uptimeMs) });
  await report(first, 'twin-a', 1_000);
  await report(second, 'twin-b', 1_000);
  const host = async () => (await w.fleet.getMachine({ id: w.machineId })).machine?.report?.hostname;
  assert.equal(await host(), 'twin-b', 'nothing is known yet');
  await share(w.on, w.partId);
  // The next batch reads what is stored, as after a restart of the server.
  await w.on.db.insertInto('change').values({ kind: 'run', key: w.partId }).execute();
  const { fingerprint: knownFingerprint } = await w.check(first);
  const asked = async () => (await w.check(first, { knownFingerprint, wait: durationFromMs(1_000) })).sendReport;
  for (let n = 0; !(await asked()); n++) assert.ok(n < 60, 'the report was not asked for');
  await report(first, 'twin-a', 60_000);
  await report(second, 'twin-b', 60_000);
  assert.equal(await host(), 'twin-a');
  assert.equal(await asked(), false);
});

test('an order is refused while computers share the machine: each would do it, and one would report it', async () => {
  await using w = await world();
  const { on, fleet, partId, check } = w;
  await check(first, { report: { knownOrders: [OrderKind.REBOOT] } });
  const order = () => failure(fleet.orderPart({ partId, kind: OrderKind.REBOOT }));
  assert.equal(await order(), 'no failure');
  await share(on, partId);
  assert.equal(await order(), 'FailedPrecondition ORDER_UNSUPPORTED');
});
