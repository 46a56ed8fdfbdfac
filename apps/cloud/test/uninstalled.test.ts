// A machine whose agent was removed reports it once; the app shows it until the machine is back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FleetService, OnlineState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { isUninstalled } from '../src/machines/rules/online.ts';
import { at } from '../src/database/database.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';

const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };

test('an uninstalled machine is shown as that with its time, not as online, until it is back', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, machineId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const shown = async () => (await fleet.getMachine({ id: machineId })).machine!;
  const { fingerprint } = await agent.deviceAgentConfig({ id: partId, hostInfo, report: { hostname: 'press-1' } });
  assert.equal((await shown()).uninstalledOn, undefined);
  const before = systemClock.wall();
  const answer = await agent.deviceAgentConfig({
    id: partId,
    hostInfo,
    knownFingerprint: fingerprint,
    uninstalled: true,
  });
  assert.deepEqual([answer.fingerprint, answer.agent], ['', undefined]);
  const gone = await shown();
  assert.equal(gone.onlineState, OnlineState.OFFLINE);
  const on_ = timestampMs(gone.uninstalledOn!);
  assert.ok(on_ >= before - 1_000 && on_ <= systemClock.wall() + 1_000);
  assert.equal(gone.report?.hostname, 'press-1', 'its last report stays');
  const [listed] = (await fleet.listMachines({ organizationId: on.orgId })).machines;
  assert.equal(listed?.onlineState, OnlineState.OFFLINE);
  // Makes the removal older: the next check clears it.
  await on.db
    .updateTable('part')
    .set({ uninstalledOn: at(systemClock.wall() - 60_000) })
    .where('id', '=', partId)
    .execute();
  await agent.deviceAgentConfig({ id: partId, hostInfo, knownFingerprint: fingerprint });
  const back = await shown();
  assert.deepEqual([back.onlineState, back.uninstalledOn], [OnlineState.ONLINE, undefined]);
});

test('a machine cannot report the removal of another machine', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const [one, other] = [await on.machine('one'), await on.machine('other')];
  const agent = await on.client(AgentDeviceService, other.part);
  assert.match(await failure(agent.deviceAgentConfig({ id: one.partId, uninstalled: true })), /PART_NOT_FOUND/);
  assert.equal((await fleet.getMachine({ id: one.machineId })).machine?.uninstalledOn, undefined);
});

const table: [uninstalledOn: number | null, lastSeen: number | undefined, is: boolean][] = [
  [null, undefined, false],
  [null, 1, false],
  [1_000, undefined, true],
  [100_000, 90_000, true],
  [100_000, 104_000, true], // the end of a connection that was noticed late
  [100_000, 106_000, false],
];
for (const [uninstalledOn, lastSeen, is] of table)
  test(`uninstalled at ${uninstalledOn}, seen at ${lastSeen}: ${is}`, () =>
    assert.equal(isUninstalled(uninstalledOn, lastSeen), is));
