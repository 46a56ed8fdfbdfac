// The configuration status over the wire: what agents report, what the server answers.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import type { DescEnum } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { systemClock } from '@platform/kit/node';
import { sql } from 'kysely';
import {
  AgentDeviceService,
  type DeviceAgentConfigResponse,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import {
  ConfigSlice,
  ConfigState,
  ConfigStateSchema,
  FleetService,
  OnlineStateSchema,
  SliceState,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { isReportPast, reportValidMs } from '@platform/contract/machine/report-age';
import { checkInterval, onlineForMs } from '../src/machines/rules/online.ts';
import { recordChange } from '../src/database/changes.ts';
import { at } from '../src/database/database.ts';
import { testServer } from './server.ts';
import { turnedClock } from './turned-clock.ts';

const names = [ConfigSlice.SETTINGS, ConfigSlice.VERSIONS, ConfigSlice.NETWORK, ConfigSlice.SYSTEM, ConfigSlice.SERVER];
const text = (value: string): string => JSON.stringify({ note: value });
const sha256 = (value: string): Buffer => createHash('sha256').update(text(value)).digest();

const nameOf = (of: DescEnum, value: number): string | undefined => of.value[value]?.localName;

async function fleetWithMachine(on: Awaited<ReturnType<typeof testServer>>) {
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('kitchen');
  const agent = await on.client(AgentDeviceService, part);
  const robot = await on.client(RobotService, part);
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const agentUptime = durationFromMs(1);
  const check = (knownFingerprint: string, runId = new Uint8Array()): Promise<DeviceAgentConfigResponse> =>
    agent.deviceAgentConfig({ id: partId, hostInfo, knownFingerprint, runId, agentUptime });
  const report = (knownFingerprint: string, content: Uint8Array, number: bigint, runId = new Uint8Array()) =>
    agent.deviceAgentConfig({
      id: partId,
      hostInfo,
      runId,
      agentUptime,
      knownFingerprint,
      report: {
        knowsContent: true,
        receivedSha256: content,
        appliedRevision: number,
        slices: names.map((slice) => ({
          slice,
          state: SliceState.IN_EFFECT,
          configSha256: content,
          appliedRevision: number,
        })),
      },
    });
  const save = (value: string) => fleet.saveConfig({ partId, configJson: text(value) });
  const status = async () => {
    const one = (await fleet.getMachine({ id: partId })).machine?.configStatus;
    const { machines } = await fleet.listMachines({ organizationId: on.orgId });
    assert.deepEqual(machines[0]?.configStatus, one, 'the list says the same');
    return [ConfigStateSchema.value[one?.state ?? ConfigState.UNSPECIFIED]?.name, one?.actingRevision];
  };
  /** Presence, state of the configuration and its reason, and whether the report says something of now. */
  const seen = async () => {
    const { machine } = await fleet.getMachine({ id: partId });
    assert.ok(machine?.configStatus);
    const { state, reason } = machine.configStatus;
    return [
      nameOf(OnlineStateSchema, machine.onlineState),
      nameOf(ConfigStateSchema, state),
      reason,
      !isReportPast(machine),
    ];
  };
  return { partId, robot, check, report, save, status, seen };
}

test('agent and machine server are sent the content, and a report of it puts it in effect', async () => {
  await using on = await testServer();
  const { partId, robot, check, report, save, status } = await fleetWithMachine(on);
  assert.deepEqual(await status(), ['CONFIG_STATE_NONE_SAVED', 0n]);
  await save('one');
  assert.deepEqual(await status(), ['CONFIG_STATE_UNKNOWN', 0n]);
  const first = await check('');
  assert.deepEqual(Buffer.from(first.configSha256), sha256('one'));
  assert.deepEqual(Buffer.from((await robot.config({ id: partId })).config?.configSha256 ?? []), sha256('one'));
  assert.deepEqual(await status(), ['CONFIG_STATE_APPLYING', 0n]);
  await report(first.fingerprint, first.configSha256, 1n);
  assert.deepEqual(await status(), ['CONFIG_STATE_IN_EFFECT', 1n]);

  await save('two');
  assert.deepEqual(await status(), ['CONFIG_STATE_APPLYING', 1n], 'what runs is named');
  await save('one');
  const third = await check(first.fingerprint);
  assert.notEqual(third.fingerprint, first.fingerprint, 'the number is for display, and has to arrive');
  await report(third.fingerprint, third.configSha256, 3n);
  assert.deepEqual(await status(), ['CONFIG_STATE_IN_EFFECT', 3n]);
});

test('a backup is restored and the numbers come again: nothing is claimed before the machine reports', async () => {
  await using on = await testServer();
  const { partId, check, report, save, status } = await fleetWithMachine(on);
  for (const value of ['one', 'two', 'three']) await save(value);
  const third = await check('');
  await report(third.fingerprint, third.configSha256, 3n);
  const backup = await on.db.selectFrom('part').selectAll().where('id', '=', partId).executeTakeFirstOrThrow();
  for (const value of ['lost four', 'lost five']) await save(value);
  const lost = await check(third.fingerprint);
  await report(lost.fingerprint, lost.configSha256, 5n);
  assert.deepEqual(await status(), ['CONFIG_STATE_IN_EFFECT', 5n]);

  // The rows of the backup come back: revision 3, its report, and the time of the report.
  await on.db.deleteFrom('configRevision').where('partId', '=', partId).where('revision', '>', 3).execute();
  const { report: bytes, reportedOn } = backup;
  await on.db
    .updateTable('part')
    .set({ revision: 3, report: bytes, reportedOn: at(reportedOn ?? 0) })
    .where('id', '=', partId)
    .execute();
  // The machine comes with the fingerprint of what was lost, so it is sent the restored configuration.
  await recordChange(on.db, 'config', partId); // a restored server starts without caches
  let restored = await check(lost.fingerprint);
  while (restored.notModified) restored = await check(lost.fingerprint);
  assert.deepEqual((await status())[0], 'CONFIG_STATE_APPLYING', 'the restored report confirms nothing');
  await report(lost.fingerprint, lost.configSha256, 5n); // a report that was under way
  assert.deepEqual(await status(), ['CONFIG_STATE_APPLYING', 0n], 'and no saved revision has the lost content');

  for (const value of ['new four', 'new five']) await save(value);
  assert.deepEqual((await status())[0], 'CONFIG_STATE_APPLYING');
  const fifth = await check(restored.fingerprint);
  assert.notDeepEqual(fifth.configSha256, lost.configSha256);
  await report(fifth.fingerprint, lost.configSha256, 5n);
  assert.deepEqual((await status())[0], 'CONFIG_STATE_APPLYING', 'the same number with the lost content');
  await report(fifth.fingerprint, fifth.configSha256, 5n);
  assert.deepEqual(await status(), ['CONFIG_STATE_IN_EFFECT', 5n]);
});

test('a machine whose disk was put back is noticed at its first check', async () => {
  await using on = await testServer();
  const { check, report, save, status } = await fleetWithMachine(on);
  await save('yesterday');
  const old = await check('');
  await save('today');
  const now = await check(old.fingerprint);
  await report(now.fingerprint, now.configSha256, 2n);
  assert.deepEqual(await status(), ['CONFIG_STATE_IN_EFFECT', 2n]);
  await check(old.fingerprint);
  assert.deepEqual((await status())[0], 'CONFIG_STATE_APPLYING');
  await report(now.fingerprint, now.configSha256, 2n);
  assert.deepEqual(await status(), ['CONFIG_STATE_IN_EFFECT', 2n]);
});

test('a machine that stops checking in is offline after three checks, and nothing that it reported is claimed', async () => {
  const turned = turnedClock();
  await using on = await testServer([], {}, turned.clock);
  const { check, report, save, seen } = await fleetWithMachine(on);
  await save('one');
  const { fingerprint, configSha256 } = await check('');
  await report(fingerprint, configSha256, 1n);
  assert.deepEqual(await seen(), ['ONLINE', 'IN_EFFECT', '', true]);
  turned.advance(onlineForMs(checkInterval(1)));
  assert.deepEqual(await seen(), ['OFFLINE', 'UNKNOWN', 'the machine is offline', false]);
  await report(fingerprint, configSha256, 1n);
  assert.deepEqual(await seen(), ['ONLINE', 'IN_EFFECT', '', true]);
});

test('a machine whose checks arrive and whose reports do not: after 75 min nothing that it reported is claimed', async () => {
  const turned = turnedClock();
  await using on = await testServer([], {}, turned.clock);
  const { check, report, save, seen } = await fleetWithMachine(on);
  await save('one');
  const { fingerprint, configSha256 } = await check('');
  await report(fingerprint, configSha256, 1n);
  turned.advance(reportValidMs - 10 * 60_000);
  await check(fingerprint);
  assert.deepEqual(await seen(), ['ONLINE', 'IN_EFFECT', '', true]);
  turned.advance(10 * 60_000);
  await check(fingerprint);
  assert.deepEqual(await seen(), ['ONLINE', 'UNKNOWN', 'the machine is online, but its last report is too old', false]);
});

test('a second computer with the same credentials says nothing of the first, whose status is shown', async () => {
  await using on = await testServer();
  const { partId, check, report, save, status } = await fleetWithMachine(on);
  const [first, second] = [Buffer.alloc(16, 1), Buffer.alloc(16, 2)];
  await save('one');
  const known = await check('', first);
  for (const [runId, began] of [
    [first, 600],
    [second, 300],
  ] as const)
    await sql`
      insert into part_run (part_id, run_id, first_seen, last_sent, returned_on, hostname, address, link_addresses)
      values (${partId}, ${runId}, now() - make_interval(secs => ${began}), now(),
        ${runId === first ? sql`now() - interval '2 minutes'` : null}, '', '192.0.2.7', ${[]})
      on conflict (part_id, run_id) do update set last_sent = now(), returned_on = excluded.returned_on`.execute(on.db);
  // The server reads the runs of other servers in the background.
  for (const until = systemClock.now() + 60_000; ; await systemClock.sleep(50)) {
    await report(known.fingerprint, known.configSha256, 1n, first);
    await check('', second);
    if ((await status())[0] === 'CONFIG_STATE_IN_EFFECT') break;
    assert.ok(systemClock.now() < until, 'the check of the second one hides the report of the first one');
  }
  await report('', known.configSha256, 1n, second);
  await check('', first);
  assert.equal((await status())[0], 'CONFIG_STATE_APPLYING');
  await report('', known.configSha256, 1n, second);
  assert.equal((await status())[0], 'CONFIG_STATE_APPLYING', 'a report of the second one confirms nothing');
});
