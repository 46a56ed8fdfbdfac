// The hotspot of this agent does not route its clients into the machine's other networks.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import {
  hasRules,
  hotspotForwarding,
  type HotspotForwarding,
} from '../src/os/linux/networkmanager/hotspot-forwarding.ts';
import { namesText } from '../src/os/linux/networkmanager/hotspot.ts';
import { scriptedFirewall, type ScriptedFirewall } from './scripted-firewall.ts';

interface World {
  firewall: ScriptedFirewall;
  /** A run of the agent. */
  start(): HotspotForwarding;
}

function on(name: string, story: (world: World) => Promise<void>): void {
  test(name, async () => {
    await using folder = await tempFolder();
    const firewall = await scriptedFirewall(folder.path);
    const of = { root: folder.path, programs: firewall, settings: firewall.settings };
    await story({ firewall, start: () => hotspotForwarding(of) });
  });
}

const holds = { problem: '', restored: [] };

on('it is closed before NetworkManager shares, and gone with the hotspot', async ({ firewall, start }) => {
  const forwarding = start();
  assert.equal((await forwarding.block('wlan0')).problem, '');
  assert.equal(await firewall.isOpen(), false);
  await firewall.share();
  assert.equal(await firewall.isOpen(), false, 'the table holds meanwhile');
  assert.equal((await forwarding.check()).problem, '');
  assert.equal(await firewall.setting('conf/wlan0/forwarding'), '0');
  assert.deepEqual(await forwarding.check(), holds);
  await forwarding.release();
  assert.equal(firewall.table, '');
  assert.deepEqual(await forwarding.check(), holds, 'without a hotspot nothing is put back');
  assert.equal(firewall.table, '');
});

on('what another program removes or changes is put back and named', async ({ firewall, start }) => {
  const forwarding = start();
  await forwarding.block('wlan0');
  const whole = firewall.table;
  for (const changed of ['', whole.replace(/.*oifname.*\n/, ''), whole.replace('iifname', 'accept\n\t\tiifname')]) {
    firewall.table = changed;
    assert.deepEqual((await forwarding.check()).restored, ['the table inet platform-hotspot of nftables']);
    assert.equal(firewall.table, whole);
  }
  await firewall.setting('conf/wlan0/forwarding', '1');
  assert.deepEqual((await forwarding.check()).restored, ['net.ipv4.conf.wlan0.forwarding']);
  assert.equal(await firewall.isOpen(), false);
});

on('without nft, the setting of the interface is closed at every moment', async ({ firewall, start }) => {
  firewall.isWithoutNft = true;
  const forwarding = start();
  assert.equal((await forwarding.block('wlan0')).problem, '');
  await firewall.share();
  assert.equal(await firewall.isOpen(), false);
  assert.deepEqual(await forwarding.check(), holds);
  await forwarding.release();
  assert.equal(await firewall.setting('conf/wlan0/forwarding'), '0', 'as before the hotspot');
});

on('with neither, it says so', async ({ firewall, start }) => {
  firewall.isWithoutNft = true;
  const forwarding = start();
  const { problem } = await forwarding.block('wlan9');
  assert.match(problem, /could route its clients .*nft: it cannot be started; net\.ipv4\.conf\.wlan9\.forwarding: /);
});

on('what a killed agent has left is removed by the next one', async ({ firewall, start }) => {
  await firewall.setting('ip_forward', '1');
  await firewall.setting('conf/wlan0/forwarding', '1');
  await start().block('wlan0');
  assert.equal(await firewall.setting('conf/wlan0/forwarding'), '0');
  await start().release();
  assert.equal(firewall.table, '');
  assert.equal(await firewall.setting('conf/wlan0/forwarding'), '1', 'as before the hotspot');
});

test('a table is right with exactly its two rules', () => {
  const listing = (...lines: string[]): string =>
    ['table inet platform-hotspot {', '\tchain forward {', ...lines.map((line) => `\t\t${line}`), '\t}', '}', ''].join(
      '\n',
    );
  const type = 'type filter hook forward priority filter - 10; policy accept;';
  const [into, out] = ['iifname "wlan0" drop', 'oifname "wlan0" drop'];
  const rows: [listing: string, isRight: boolean][] = [
    [listing(type, into, out), true],
    [listing(type.replace('filter - 10', '-10'), into, out), true],
    [listing(type, into), false],
    [listing(type, 'accept', into, out), false],
    [listing(type, into.replace('wlan0', 'wlan1'), out), false],
    [listing(type.replace('forward', 'input'), into, out), false],
    ['', false],
  ];
  for (const [text, isRight] of rows) assert.equal(hasRules(text, 'wlan0'), isRight, text);
});

test('which names the hotspot answers by itself', () => {
  const of = { interface: 'wlan0', ssid: 'box', password: 'platformsetup', band: '' } as const;
  const lines = (isRedirecting: boolean, isSharing: boolean): string[] =>
    namesText({ ...of, isRedirecting, isSharing }, '10.42.0.1')
      .trim()
      .split('\n')
      .slice(1);
  const local = ['local=/#/', 'no-resolv'];
  const setup = ['address=/setup/10.42.0.1', 'local=/setup/'];
  assert.deepEqual(lines(true, false), ['address=/#/10.42.0.1', ...local]);
  assert.deepEqual(lines(true, true), ['address=/#/10.42.0.1', ...local]);
  assert.deepEqual(lines(false, false), [...setup, ...local]);
  assert.deepEqual(lines(false, true), setup);
});
