// `platform-agent uninstall` as a process, on a machine with a scripted NetworkManager.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { captureLog, tempFolder } from '@platform/kit/testing';
import { markedProfiles } from '../src/composition/hand-over-networks.ts';
import { createBus } from '../src/os/linux/dbus/bus.ts';
import { networkManager } from '../src/os/linux/networkmanager/network-manager.ts';
import { wifiProfile } from './network-contract.ts';
import { command, type Ran } from './running-agent.ts';
import { ScriptedNetworkManager } from './scripted-network-manager.ts';
import { withoutRadio } from './without-radio.ts';

const never = new AbortController().signal;
const additional = (name: string) => ({
  mark: { kind: 'additional', name, digest: 'a' } as const,
  isAutoconnect: true,
});

/** A machine that is online by Home; the agent also made Spare, and Cabin, which a user entered. */
async function machine() {
  const folder = await tempFolder();
  const root = folder.file('opt');
  for (const name of ['state', 'versions']) await mkdir(path.join(root, name), { recursive: true });
  await writeFile(path.join(root, 'state/manages-networks'), '');
  const script = new ScriptedNetworkManager(folder.path);
  await script.bus.listen();
  const clock = systemClock;
  const { log } = captureLog(clock);
  const address = `unix:path=${script.bus.address}`;
  const bus = createBus({ address, clock, log });
  const host = { networks: async () => [], datagramHolder: async () => undefined };
  const files = { write: async () => false, restore: async () => 'not-managed' as const, written: async () => [] };
  const parts = { bus, clock, log, host, files, ...withoutRadio(root) };
  const network = networkManager({ ...parts, probe: async () => 'full' });
  const stop = new AbortController();
  const running = network.run(stop.signal);
  while (network.state.get().manager !== 'ready') await clock.sleep(5);
  script.setAccessPoint(Buffer.from('Home'));
  await network.scan('wlan0', never);
  const home = await network.save(wifiProfile('Home', 'password1', additional('Home')));
  await network.save(wifiProfile('Spare', 'password1', additional('Spare')));
  await network.save(wifiProfile('Cabin'));
  script.foreignProfile('theirs');
  assert.deepEqual(await network.join(home, 'wlan0', never), { ok: true });
  return {
    uninstall: (args: readonly string[] = [], env: Record<string, string> = {}): Promise<Ran> =>
      command(['uninstall', '--root', root, '--config', folder.file('none.json'), ...args], {
        DBUS_SYSTEM_BUS_ADDRESS: address,
        ...env,
      }),
    /** Each profile with the kind of its mark. */
    async profiles(): Promise<string[]> {
      await network.checkConnectivity(never);
      await network.scan('wlan0', never);
      return network.state
        .get()
        .profiles.map(({ ssid, name, mark }) => `${ssid || name}: ${mark?.kind ?? 'of the system'}`)
        .toSorted();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await script[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

const before = ['Cabin: provisioned', 'Home: additional', 'Spare: additional', 'theirs: of the system'];

test('uninstall leaves the network in use and what a user entered to the system, and removes the others', async () => {
  await using at = await machine();
  const { code, stdout, stderr } = await at.uninstall(['--yes', '--json']);
  assert.equal(code, 0, stderr);
  const { done, left, left_networks: networks } = JSON.parse(stdout) as Record<string, string[]>;
  assert.deepEqual([left, networks?.toSorted()], [[], ['Cabin', 'Home']]);
  assert.ok(done?.includes('removed the network Spare'), stdout);
  assert.deepEqual(await at.profiles(), ['Cabin: of the system', 'Home: of the system', 'theirs: of the system']);
});

test('uninstall --networks removes those, too, after a warning', async () => {
  await using at = await machine();
  const { code, stdout, stderr } = await at.uninstall(['--yes', '--networks']);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^The networks .* are removed\. This machine is connected by Home now and loses that link\.$/m);
  for (const name of ['Home', 'Spare', 'Cabin'])
    assert.match(stdout, new RegExp(`^  removed the network ${name}$`, 'm'));
  assert.doesNotMatch(stdout, /Left to the system/);
  assert.deepEqual(await at.profiles(), ['theirs: of the system']);
});

test('uninstall --networks over the link that it removes needs --yes, and without a terminal, too', async () => {
  await using at = await machine();
  const over = { SSH_CONNECTION: '192.168.5.9 40000 192.168.5.3 22' };
  const refused = await at.uninstall(['--networks'], over);
  assert.equal(refused.code, 4);
  assert.match(refused.stderr, /comes over the network Home, which --networks removes\. Use --yes\./);
  const other = await at.uninstall(['--networks'], { SSH_CONNECTION: '10.0.0.9 40000 10.0.0.3 22' });
  assert.deepEqual([other.code, other.stderr], [4, 'Confirmation is required, but there is no terminal. Use --yes.\n']);
  assert.deepEqual(await at.profiles(), before);
  const forced = await at.uninstall(['--networks', '--yes'], over);
  assert.equal(forced.code, 0, forced.stderr);
  assert.deepEqual(await at.profiles(), ['theirs: of the system']);
});

test('without NetworkManager the profiles of the agent are found in its folder', async () => {
  await using folder = await tempFolder();
  const mark = '\n[user]\norg.platform.mark={"kind":"provisioned"}\n';
  await writeFile(folder.file('Home.nmconnection'), `[connection]\nid=Home\n${mark}`);
  await writeFile(folder.file('Cabin.nmconnection'), `[connection]\nid=Cabin\n${mark}`);
  await writeFile(folder.file('theirs.nmconnection'), '[connection]\nid=theirs\n');
  assert.deepEqual(await markedProfiles(folder.path), ['Cabin', 'Home']);
  assert.deepEqual(await markedProfiles(folder.file('none')), []);
});
