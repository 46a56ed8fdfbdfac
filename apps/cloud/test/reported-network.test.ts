// What a machine reports about its network, as users see it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import {
  FleetService,
  NetworkAttemptResult,
  NetworkLinkType,
  NetworkMode,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { testServer } from './server.ts';

const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };

test('the network of a machine is shown as it was reported', async () => {
  await using on = await testServer();
  const { machineId, partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService);
  const link = { interface: 'wlan0', type: NetworkLinkType.WIFI, ssid: 'Café', addresses: ['192.168.1.20/24'] };
  const attempt = { network: 'Office', result: NetworkAttemptResult.WRONG_PASSWORD, reason: 'wrong' };
  const network = { mode: NetworkMode.NORMAL, links: [link], attempts: [attempt], isOnFallback: true };
  await agent.deviceAgentConfig({ id: partId, hostInfo, report: { network } });
  const found = (await fleet.getMachine({ id: machineId })).machine?.report?.network;
  assert.equal(found?.mode, NetworkMode.NORMAL);
  assert.equal(found?.links[0]?.ssid, 'Café');
  assert.equal(found?.attempts[0]?.result, NetworkAttemptResult.WRONG_PASSWORD);
  assert.equal(found?.isOnFallback, true);
});

test('a machine that reports a huge network is cut to the limits', async () => {
  await using on = await testServer();
  const { machineId, partId, part } = await on.machine('m');
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService);
  const long = 'x'.repeat(1_000);
  const many = <T>(count: number, item: T): T[] => Array.from({ length: count }, () => item);
  const network = {
    why: long,
    next: long,
    hotspotSsid: long,
    links: many(30, {
      interface: long,
      ssid: long,
      why: long,
      signalPercent: 4_000_000_000,
      addresses: many(10, long),
    }),
    attempts: many(100, { network: long, interface: long, reason: long }),
  };
  await agent.deviceAgentConfig({ id: partId, hostInfo, report: { network } });
  const found = (await fleet.getMachine({ id: machineId })).machine?.report?.network;
  assert.ok(found);
  assert.deepEqual([found.why.length, found.next.length, found.hotspotSsid.length], [500, 500, 64]);
  assert.deepEqual([found.links.length, found.attempts.length], [16, 10]);
  const [link] = found.links;
  assert.deepEqual(
    [
      link?.interface.length,
      link?.ssid.length,
      link?.why.length,
      link?.signalPercent,
      link?.addresses.length,
      link?.addresses[0]?.length,
    ],
    [64, 64, 500, 100, 8, 64],
  );
  assert.deepEqual([found.attempts[0]?.network.length, found.attempts[0]?.reason.length], [64, 500]);
});
