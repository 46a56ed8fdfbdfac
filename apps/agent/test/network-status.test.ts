// A real agent on a scripted NetworkManager: what it says about the network, as JSON and as text.
import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { command, startAgent } from './running-agent.ts';
import { ScriptedNetworkManager } from './scripted-network-manager.ts';
import { listen, TestCloud } from './test-cloud.ts';

test('the status of a real agent shows its links, and what became of them when it leaves the network alone', async () => {
  await using folder = await tempFolder();
  await using script = new ScriptedNetworkManager(folder.path);
  await script.bus.listen();
  script.plugCable(true);
  const cloud = new TestCloud(systemClock);
  cloud.agentConfig.set({ advanced_settings: { disable_platform_server: true } });
  await using server = await listen(cloud);
  const env = {
    PATH: process.env['PATH'] ?? '',
    DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${script.bus.address}`,
    PLATFORM_AGENT_MANAGE_NETWORKS: 'always',
  };
  await using agent = await startAgent(folder, cloud, server.url, { env });
  const network = await agent.until('it sees its links', ({ network: of }) => of?.links.length === 2 && of);
  assert.equal(network.mode, 'normal');
  assert.match(network.since ?? '', /^\d{4}-\d\d-\d\dT/);
  assert.deepEqual(
    network.links.map((link) => [link.interface, link.type, link.state, link.addresses, link.is_hotspot]),
    [
      ['eth0', 'wired', 'disconnected', [], false],
      ['wlan0', 'wifi', 'disconnected', [], false],
    ],
  );
  assert.deepEqual([network.has_link, network.hotspot_ssid, network.attempts, network.notes], [false, '', [], []]);
  const text = await command(['status', '--root', agent.root]);
  assert.match(text.stdout, /^network +not connected for \d+ s/m);
  assert.ok(await stat(path.join(agent.root, 'state/manages-networks')));
  cloud.agentConfig.set({
    advanced_settings: { disable_platform_server: true, disable_network_configuration: true },
  });
  const left = await agent.until('it leaves the network alone', ({ network: of }) => of?.mode === 'unmanaged' && of);
  assert.equal(left.why, 'disable_network_configuration is true');
  const unmanaged = await command(['status', '--root', agent.root, '--json']);
  assert.equal((JSON.parse(unmanaged.stdout) as { network: { mode: string } }).network.mode, 'unmanaged');
});
