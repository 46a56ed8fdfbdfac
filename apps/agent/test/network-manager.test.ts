// The adapter for NetworkManager keeps the contract of its port on a scripted NetworkManager.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { Cell, TimeoutError } from '@platform/kit';
import { watchConnectivity } from '../src/network/checks/connectivity-watch.ts';
import type { NewProfile } from '../src/os/network-port.ts';
import { hotspotHost } from '../src/os/linux/networkmanager/hotspot.ts';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { networkContract, wifiProfile } from './network-contract.ts';
import { type ScriptedWorld, scripted } from './scripted-network-world.ts';

networkContract('scripted NetworkManager', () => scripted());

const never = new AbortController().signal;

/** Runs a story on a scripted NetworkManager whose state is known. */
function scriptedTest(name: string, story: (world: ScriptedWorld) => Promise<void>): void {
  test(name, async () => {
    await using world = await scripted();
    const stop = new AbortController();
    const running = world.network.run(stop.signal);
    try {
      await until(world, () => world.network.state.get().manager === 'ready');
      await story(world);
    } finally {
      stop.abort();
      await running;
    }
  });
}

const on = scriptedTest;

async function until(world: ScriptedWorld, holds: () => boolean): Promise<void> {
  for (let n = 0; !holds(); n++) {
    assert.ok(n < 2_000, JSON.stringify(world.network.state.get()));
    await world.pass();
  }
}

scriptedTest('an SSID that is not UTF-8 is shown with escapes and joined by its bytes', async (world) => {
  world.script.setAccessPoint(Buffer.from([0x43, 0xe9, 0x31]));
  await world.network.scan('wlan0', never);
  assert.deepEqual(
    world.network.state.get().visible.map(({ ssid }) => ssid),
    [String.raw`C\xe91`],
  );
  const uuid = await world.network.save(wifiProfile(String.raw`C\xe91`));
  assert.deepEqual(await world.network.join(uuid, 'wlan0', never), { ok: true });
});

scriptedTest('a network with WPA3 only is joined by a profile that was saved before it was seen', async (world) => {
  const uuid = await world.network.save(wifiProfile('New'));
  world.script.setAccessPoint(Buffer.from('New'), { rsnFlags: 0x488 });
  await world.network.scan('wlan0', never);
  assert.equal(world.network.state.get().visible[0]?.security, 'sae');
  assert.deepEqual(await world.network.join(uuid, 'wlan0', never), { ok: true });
});

scriptedTest('a wrong WPA3 password, which NetworkManager reports as a missing network', async (world) => {
  world.script.setAccessPoint(Buffer.from('New'), { rsnFlags: 0x488 });
  await world.network.scan('wlan0', never);
  const uuid = await world.network.save(wifiProfile('New', 'another password'));
  const result = await world.network.join(uuid, 'wlan0', never);
  assert.equal(!result.ok && result.reason, 'wrong-password');
  world.script.setAccessPoint(Buffer.from('New'), { isOn: false });
  const missing = await world.network.join(uuid, 'wlan0', never);
  assert.equal(!missing.ok && missing.reason, 'not-found', 'the access point is off');
});

scriptedTest('an access point that an activation looks for is not visible', async (world) => {
  world.script.setAccessPoint(Buffer.from('Gone'), { isNeverSeen: true });
  await world.network.scan('wlan0', never);
  assert.deepEqual(world.network.state.get().visible, []);
});

scriptedTest('the hotspot leaves the default route, other subnets and the disk alone', async (world) => {
  world.taken.push('10.42.0.7/16', '192.168.200.0/24');
  const hotspot = {
    interface: 'wlan0',
    ssid: 'box',
    password: 'platformsetup',
    isRedirecting: false,
    isSharing: false,
    band: '',
  } as const;
  assert.deepEqual(await world.network.startHotspot(hotspot, never), { ok: true, address: '192.168.201.1' });
  const names = [...world.files].find(([file]) => file.includes('dnsmasq-shared.d'))?.[1] ?? '';
  assert.match(names, /^address=\/setup\/192\.168\.201\.1$/m);
  const settings = world.script.settingsOf('box');
  assert.equal(settings?.get('ipv4')?.get('never-default')?.value, true);
  assert.equal(settings?.get('ipv6')?.get('method')?.value, 'disabled');
  assert.equal(settings?.get('connection')?.get('autoconnect')?.value, false);
  assert.deepEqual(settings?.get('802-11-wireless-security')?.get('proto')?.value, ['rsn']);
});

on('the hotspot does not route, before, while and after it runs', async (world) => {
  const { network, firewall, script } = world;
  const hotspot = {
    interface: 'wlan0',
    ssid: 'box',
    password: 'platformsetup',
    isRedirecting: true,
    isSharing: false,
    band: '',
  } as const;
  const shared: boolean[] = [];
  script.shares = async () => {
    await firewall.share();
    shared.push(await firewall.isOpen());
  };
  assert.equal((await network.startHotspot(hotspot, never)).ok, true);
  assert.deepEqual([shared, await firewall.isOpen()], [[false], false]);
  assert.equal(await firewall.setting('conf/wlan0/forwarding'), '0');
  await network.stopHotspot();
  assert.equal(firewall.table, '');

  assert.equal((await network.startHotspot({ ...hotspot, isSharing: true }, never)).ok, true);
  assert.equal(firewall.table, '', 'an owner asked for it');
  await network.stopHotspot();

  firewall.isWithoutNft = true;
  await rm(firewall.settings, { recursive: true });
  script.shares = async () => {};
  const open = await network.startHotspot(hotspot, never);
  assert.match(open.ok ? '' : open.detail, /could route its clients into the other networks of this machine/);
  assert.equal(script.settingsOf('box'), undefined, 'it never was on the air');
});

const mayStart = (frequencyMhz: number) => ({ frequencyMhz, mayStart: true, isIndoorOnly: false });

on('the hotspot opens on a channel that the rules allow, and knows when it has to leave', async (world) => {
  const { network, rules, script } = world;
  const hotspot = {
    interface: 'wlan0',
    ssid: 'box',
    password: 'platformsetup',
    isRedirecting: false,
    isSharing: false,
  } as const;
  const channel = (): unknown[] => {
    const wireless = script.settingsOf('box')?.get('802-11-wireless');
    return [wireless?.get('band')?.value, wireless?.get('channel')?.value];
  };
  const start = (band: '' | '5') => network.startHotspot({ ...hotspot, band }, never);
  assert.equal((await start('')).ok, true);
  assert.deepEqual(channel(), ['bg', undefined], 'the rules are not known');
  assert.equal(await network.hotspotProblem(), '');

  rules.allowed = [mayStart(2437), mayStart(5180)];
  assert.equal((await start('5')).ok, true);
  assert.deepEqual(channel(), ['a', 36]);
  assert.equal(await network.hotspotProblem(), '');
  rules.allowed = [mayStart(2437)];
  assert.equal(await network.hotspotProblem(), 'channel 36 (5180 MHz) is not allowed any more');
  assert.equal((await start('5')).ok, true);
  assert.deepEqual(channel(), ['bg', 6]);
  assert.equal(await network.hotspotProblem(), '');

  rules.allowed = [{ ...mayStart(2437), mayStart: false }];
  const none = await start('');
  assert.match(none.ok ? '' : none.detail, /rules in effect allow no channel .* wlan0/);
  assert.equal(await network.hotspotProblem(), '', 'no hotspot runs');
  rules.problem = 'no netlink';
  assert.equal((await start('')).ok, true);
});

const office = (method: 'tls' | 'peap'): NewProfile => {
  const eap = { method, innerMethod: 'mschapv2', identity: 'me', anonymousIdentity: '', password: 'x' } as const;
  const pems = { authority: 'PEM a', clientCertificate: 'PEM b', clientKey: 'PEM c', clientKeyPassword: '' };
  const security = { is: 'eap', eap: { ...eap, ...pems, serverName: '' } } as const;
  return wifiProfile('Office', '', { wifi: { ssid: 'Office', isHidden: false, security } });
};

on('no certificate and no key stays behind when its network is changed or removed', async (world) => {
  const { network, discarded } = world;
  const uuid = await network.save(office('tls'));
  const file = (kind: string): string => `/etc/NetworkManager/system-connections/${uuid}-${kind}.pem`;
  await network.setPriority(uuid, 5);
  assert.deepEqual(discarded, []);
  await network.save(office('peap'), uuid);
  assert.deepEqual(discarded.splice(0), [file('client-cert'), file('private-key')]);
  await network.remove(uuid);
  assert.deepEqual(discarded, [file('ca-cert')]);
});

scriptedTest('a rollback finds the certificates as they were; a confirmed change removes them', async (world) => {
  const { network, discarded, written } = world;
  const uuid = await network.save(office('tls'));
  const file = (kind: string): string => `/etc/NetworkManager/system-connections/${uuid}-${kind}.pem`;
  const kinds = ['ca-cert', 'client-cert', 'private-key'].map(file);
  const first = await network.checkpoint(60);
  await network.save(office('tls'), uuid);
  await network.remove(uuid);
  assert.deepEqual(discarded, [], 'they may be needed again');
  await first.rollBack();
  assert.deepEqual(
    written.splice(0),
    kinds.map((one, n) => `${one}: ${n + 1}. of ${one}`),
  );
  assert.deepEqual(discarded, []);

  const second = await network.checkpoint(60);
  const other = await network.save(office('tls'));
  await network.remove(other);
  assert.deepEqual(discarded, []);
  await second.confirm();
  const expected = kinds.map((one) => one.replace(uuid, other));
  assert.deepEqual([written, discarded], [[], expected]);
});

scriptedTest('certificates of a new network are removed when its change is rolled back', async (world) => {
  const { network, discarded } = world;
  const change = await network.checkpoint(60);
  const uuid = await network.save(office('tls'));
  await change.rollBack();
  const file = (kind: string): string => `/etc/NetworkManager/system-connections/${uuid}-${kind}.pem`;
  assert.deepEqual(discarded, ['ca-cert', 'client-cert', 'private-key'].map(file));
});

scriptedTest('a disowned network keeps its certificates', async (world) => {
  const uuid = await world.network.save(office('tls'));
  await world.network.disown(uuid);
  assert.deepEqual(world.discarded, []);
});

scriptedTest('a radio for 5 GHz only, whose rules are not known', async (world) => {
  world.script.capabilities = 0x740 & ~0x200;
  const hotspot = {
    interface: 'wlan0',
    ssid: 'box',
    password: 'platformsetup',
    isRedirecting: false,
    isSharing: false,
  } as const;
  assert.equal((await world.network.startHotspot({ ...hotspot, band: '' }, never)).ok, true);
  assert.equal(world.script.settingsOf('box')?.get('802-11-wireless')?.get('band')?.value, 'a');
});

scriptedTest('without a check by NetworkManager the agent checks the way to the internet itself', async (world) => {
  assert.equal(world.network.state.get().connectivity, 'unknown', 'a default route is not the internet');
  world.probed.result = 'limited';
  assert.equal(await world.network.checkConnectivity(never), 'limited');
  assert.equal(world.network.state.get().connectivity, 'limited');
  world.plugCable(true);
  const uuid = world.script.foreignProfile('Wired connection 1');
  await until(world, () => world.network.state.get().profiles.length === 1);
  await world.network.join(uuid, 'eth0', never);
  assert.equal(world.network.state.get().connectivity, 'unknown', 'the link has changed');
});

scriptedTest('with a check by NetworkManager its result counts', async (world) => {
  world.script.connectivity = 2;
  assert.equal(await world.network.checkConnectivity(never), 'portal');
  assert.equal(world.network.state.get().connectivity, 'portal');
});

scriptedTest('a link whose loss no signal reported is gone as soon as the management server is lost', async (world) => {
  const { network, script } = world;
  script.setAccessPoint(Buffer.from('Home'));
  const uuid = await network.save(wifiProfile('Home'));
  assert.deepEqual(await network.join(uuid, 'wlan0', never), { ok: true });
  const isReached = new Cell(true);
  const stop = new AbortController();
  const clock = new FakeClock();
  const watching = watchConnectivity({ network, isReached, clock, log: captureLog(clock).log }, stop.signal);
  await until(world, () => network.state.get().connectivity === 'full');
  const quiet = async (): Promise<void> => {
    for (let n = 0; n < 60; n++) await world.pass();
  };
  await quiet();
  script.loseLinkUnheard();
  await quiet();
  const radio = (): string => network.state.get().devices.find(({ interface: name }) => name === 'wlan0')?.state ?? '';
  assert.equal(radio(), 'connected', 'no signal has come');
  isReached.set(false);
  await clock.advance(5_000);
  await until(world, () => radio() !== 'connected');
  stop.abort();
  await watching;
});

scriptedTest('power save is written once and undone', async (world) => {
  const file = '/etc/NetworkManager/conf.d/81-platform-wifi-powersave.conf';
  const reloads = (): number => world.script.calls.filter((call) => call === 'Reload').length;
  await world.network.setPowerSave(false);
  await world.network.setPowerSave(false);
  assert.match(world.files.get(file) ?? '', /^wifi\.powersave = 2$/m);
  assert.equal(reloads(), 1);
  await world.network.setPowerSave(null);
  assert.equal(world.files.has(file), false);
  assert.equal(reloads(), 2);
});

scriptedTest('the bus may end at any time: calls fail at once, and the agent connects again', async (world) => {
  world.script.bus.drop();
  await until(world, () => world.network.state.get().manager === 'absent');
  await assert.rejects(world.network.save(wifiProfile('Home')), { code: 'org.freedesktop.DBus.Error.ServiceUnknown' });
  await until(world, () => world.network.state.get().manager === 'ready');
});

scriptedTest('a signal of another process changes nothing', async (world) => {
  const before = world.network.state.get();
  world.script.version = '1.18.0';
  const name = 'org.freedesktop.NetworkManager';
  world.script.bus.forge('/org/freedesktop/NetworkManager', name, 'DeviceAdded', 'o', ['/org/freedesktop/evil']);
  for (let n = 0; n < 60; n++) await world.pass();
  assert.equal(world.network.state.get(), before);
});

test('an absent NetworkManager is logged once', async () => {
  await using world = await scripted();
  world.script.bus.setOwned(false);
  const stop = new AbortController();
  const running = world.network.run(stop.signal);
  await until(world, () => world.network.state.get().manager === 'absent');
  for (let n = 0; n < 5; n++) {
    world.script.bus.drop();
    for (let m = 0; m < 20; m++) await world.pass();
  }
  stop.abort();
  await running;
  const lines = world
    .lines()
    .split('\n')
    .filter((line) => line.startsWith('info'));
  assert.deepEqual(lines.filter((line) => line.includes('absent')).length, 1, lines.join('\n'));
});

scriptedTest('a radio that is switched off is switched on to join; a hardware switch is named', async (world) => {
  world.script.setAccessPoint(Buffer.from('Home'));
  const uuid = await world.network.save(wifiProfile('Home'));
  world.script.radio = { isOn: false, isHardwareOn: true };
  assert.deepEqual(await world.network.join(uuid, 'wlan0', never), { ok: true });
  world.script.radio = { isOn: false, isHardwareOn: false };
  const result = await world.network.join(uuid, 'wlan0', never);
  assert.match(result.ok ? '' : result.detail, /switch of the machine/);
});

scriptedTest('a call that is never answered ends at its limit, and the rest goes on', async (world) => {
  world.script.silent = ['CheckpointCreate'];
  const peer = world.bus.peer('org.freedesktop.NetworkManager');
  const name = 'org.freedesktop.NetworkManager';
  const call = { path: '/org/freedesktop/NetworkManager', interface: name, member: 'CheckpointCreate', limitMs: 50 };
  await assert.rejects(peer.call(call), TimeoutError);
  assert.ok(await world.network.save(wifiProfile('Home')));
});

scriptedTest('a NetworkManager that answers no question is found, though it sends no signal', async (world) => {
  world.script.silent = ['Get'];
  assert.equal(await world.network.isAnswering(50), false);
  assert.equal(world.network.state.get().manager, 'ready');
  world.script.silent = [];
  assert.equal(await world.network.isAnswering(5_000), true);
});

test('a NetworkManager of 2014 is too old, not unreadable', async () => {
  await using world = await scripted();
  world.script.version = '1.0.0';
  world.script.isWithoutObjects = true;
  const stop = new AbortController();
  const running = world.network.run(stop.signal);
  await until(world, () => world.network.state.get().manager === 'too-old');
  assert.equal(world.network.state.get().version, '1.0.0');
  stop.abort();
  await running;
});

test('the holder of a UDP port on all addresses is named, that of another address is not', async () => {
  for (const [address, expected] of [
    ['0.0.0.0', process.pid],
    ['127.0.0.1', undefined],
  ] as const) {
    const socket = createSocket('udp4');
    socket.bind(0, address);
    await once(socket, 'listening');
    assert.equal((await hotspotHost.datagramHolder(socket.address().port))?.pid, expected);
    socket.close();
  }
});
