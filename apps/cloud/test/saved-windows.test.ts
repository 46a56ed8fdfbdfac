// Maintenance windows from the saved configuration to the answer that an agent gets.
import assert from 'node:assert/strict';
import test from 'node:test';
import { toJson } from '@bufbuild/protobuf';
import { ValueSchema } from '@bufbuild/protobuf/wkt';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { testServer } from './server.ts';

const night = { from: '22:00', to: '04:00', days: ['sat'], time_zone: 'Europe/Berlin' };
const noon = { from: '12:00', duration_minutes: 30, time_zone: 'device' };

test('a saved window, a list of windows, and none reach the agent as saved, each with its own fingerprint', async () => {
  await using on = await testServer();
  const fleet = await on.client(FleetService);
  const { partId, part } = await on.machine('press');
  const agent = await on.client(AgentDeviceService, part);
  const fingerprints = new Set<string>();
  for (const saved of [undefined, night, [night], [night, noon], [noon, night]]) {
    await fleet.saveConfig({ partId, configJson: JSON.stringify({ agent: {}, maintenance_window: saved }) });
    const answer = await agent.deviceAgentConfig({ id: partId, hostInfo: { platform: 'linux/amd64' } });
    const { maintenanceWindow: one, maintenanceWindows: list } = answer;
    assert.deepEqual(one, Array.isArray(saved) ? undefined : saved, 'agents before lists read only one window');
    assert.deepEqual(list && toJson(ValueSchema, list), Array.isArray(saved) ? saved : undefined);
    fingerprints.add(answer.fingerprint);
  }
  assert.equal(fingerprints.size, 5);
});
