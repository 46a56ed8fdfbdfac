// Stories of a machine whose network comes, goes and is entered by its owner.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setCondition } from '../src/health/condition-set.ts';
import { minute, NetworkWorld } from './network-world.ts';

test('a fresh device opens its hotspot, and its owner brings it online', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.network.setAccessPoint('Home');
  world.start();
  assert.ok(await world.until(() => world.hotspot !== '', 2), 'hotspot');
  assert.equal(world.hotspot, 'platform-setup-barn');
  assert.ok(await world.until(() => world.view?.get().networks.length === 1, 1), 'the page lists the network');
  assert.equal(world.status.get()?.mode, 'hotspot');
  assert.equal(world.isOfflineByHotspot.get(), true);
  assert.equal(await world.enter('Home', 'password1', { credentials: '{}' }), 'ok');
  assert.ok(await world.until(() => world.joined === 'Home', 1), 'joined');
  await world.pass(1);
  assert.equal(world.hotspot, '');
  const { mode, attempts, hasLink, connectivity } = world.status.get()!;
  assert.deepEqual([mode, hasLink, connectivity], ['normal', true, 'full']);
  assert.deepEqual(
    attempts.map(({ network, result }) => [network, result]),
    [['Home', 'ok']],
  );
  assert.equal(world.isOfflineByHotspot.get(), false);
  const { mark, priority } = world.network.state.get().profiles[0]!;
  assert.deepEqual([mark, priority], [{ kind: 'provisioned' }, 999]);
  await world.stop();
});

test('a fresh device looks around before its radio becomes the hotspot: the page lists networks at once', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.network.setAccessPoint('Home');
  const { network, clock } = world;
  const [scan, startHotspot] = [network.scan.bind(network), network.startHotspot.bind(network)];
  let isHotspot = false;
  network.startHotspot = async (...args) => {
    isHotspot = true; // and a scan that is under way finds nothing
    return startHotspot(...args);
  };
  network.scan = async (name, signal) => {
    await clock.sleep(5_000, signal);
    if (!isHotspot) await scan(name, signal);
  };
  world.start();
  assert.ok(await world.until(() => world.view !== undefined, 2), 'portal');
  assert.deepEqual(
    world.view?.get().networks.map(({ ssid }) => ssid),
    ['Home'],
  );
  await world.stop();
});

test('a set-up code with a wrong address: the hotspot is back after a minute with the reason, once, then by turns', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.network.setAccessPoint('Home');
  world.start();
  assert.ok(await world.until(() => world.view !== undefined, 2), 'portal');
  assert.equal(await world.enter('Home', 'password1'), 'ok');
  assert.ok(await world.until(() => world.joined === 'Home', 1), 'joined');
  world.pendingCode.set({ code: 'ABCDEFGH' });
  const problem = 'the name is not known';
  setCondition(world.conditions, 'SET_UP_CODE_WAITS', { server: 'https://example.test', problem });
  await world.pass(0.9);
  assert.equal(world.hotspot, '');
  assert.ok(await world.until(() => world.view !== undefined, 0.5), 'the hotspot');
  assert.match(
    world.view?.get().credentialsProblem ?? '',
    /^The set-up code is not redeemed at https:\/\/example\.test yet: the name is not known\. The agent tries again/,
  );
  assert.ok(await world.until(() => world.joined === 'Home', 12), 'the network again');
  await world.pass(5);
  assert.equal(world.joined, 'Home');
  await world.stop();
});

test('a wrong password leads back to the hotspot within a minute, with the reason', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.network.setAccessPoint('Home');
  world.start();
  await world.until(() => world.view !== undefined, 2);
  assert.equal(await world.enter('Home', 'wrong-password', { credentials: '{}' }), 'ok');
  assert.ok(await world.until(() => world.hotspot === '', 1));
  assert.ok(await world.until(() => world.view !== undefined, 1));
  const { lastAttempt, at } = world.view!.get();
  assert.deepEqual(
    [at, lastAttempt?.result, lastAttempt?.text],
    ['waiting', 'wrong-password', 'The password of Home is wrong.'],
  );
  assert.deepEqual(world.network.state.get().profiles, [], 'a profile that cannot work is removed');
  assert.equal(await world.enter('Home', 'password1'), 'ok');
  assert.ok(await world.until(() => world.joined === 'Home', 1));
  await world.stop();
});

async function online(world: NetworkWorld): Promise<void> {
  world.network.setAccessPoint('Home');
  world.start();
  await world.until(() => world.view !== undefined, 5);
  await world.enter('Home', 'password1');
  assert.ok(await world.until(() => world.joined === 'Home', 2));
  await world.pass(2);
}

test('the router dies: the hotspot after the limit; the router returns: online by itself', async () => {
  const world = new NetworkWorld();
  await online(world);
  world.network.setAccessPoint('Home', { isOn: false });
  await world.pass(1.5);
  assert.equal(world.hotspot, '');
  assert.equal(world.status.get()?.next, 'the hotspot starts, because no known network works');
  assert.ok(await world.until(() => world.hotspot !== '', 2));
  world.network.setAccessPoint('Home', { isOn: true });
  assert.ok(await world.until(() => world.joined === 'Home', 3));
  assert.equal(world.hotspot, '');
  await world.stop();
});

test('a link that drops in the moment of its join is not taken for a connection', async () => {
  const world = new NetworkWorld();
  world.network.setAccessPoint('Home');
  const join = world.network.join.bind(world.network);
  world.network.join = async (...args) => {
    const result = await join(...args);
    world.network.setAccessPoint('Home', { isOn: false });
    return result;
  };
  world.start();
  await world.until(() => world.view !== undefined, 5);
  await world.enter('Home', 'password1');
  assert.ok(await world.until(() => world.hotspot === '', 1), 'it tries');
  assert.ok(await world.until(() => world.hotspot !== '', 5), 'the hotspot is back');
  await world.stop();
});

test('a known network returns while a user is active: the hotspot stays', async () => {
  const world = new NetworkWorld();
  await online(world);
  world.network.setAccessPoint('Home', { isOn: false });
  await world.until(() => world.view !== undefined, 5);
  world.active();
  world.network.setAccessPoint('Home', { isOn: true });
  await world.pass(4);
  assert.notEqual(world.hotspot, '');
  assert.ok(await world.until(() => world.joined === 'Home', 3), 'once the user is idle');
  await world.stop();
});

test('a cable in hotspot mode brings the machine online and ends the hotspot', async () => {
  const world = new NetworkWorld();
  world.network.setCable('eth0', { isPlugged: false });
  world.network.addForeignProfile({ name: 'Wired connection 1', type: 'wired', routeMetric: 100 });
  world.start();
  assert.ok(await world.until(() => world.hotspot !== '', 5));
  world.network.setCable('eth0', { isPlugged: true });
  assert.ok(await world.until(() => world.hotspot === '' && world.status.get()?.mode === 'normal', 2));
  await world.stop();
});

test('a power cut right after a confirmed submission: nothing has to be entered again', async () => {
  const world = new NetworkWorld();
  world.network.setAccessPoint('Home');
  world.start();
  await world.until(() => world.view !== undefined, 5);
  assert.equal(await world.enter('Home', 'password1'), 'ok');
  await world.cutPower();
  assert.ok(await world.until(() => world.joined === 'Home', 2));
  assert.equal(world.hotspot, '');
  await world.pass(3);
  const kept = await world.machine.session().device.disk.read('state/entered-network.json');
  assert.equal(kept, undefined, 'the copy goes once the profile is on the disk');
  await world.cutPower();
  assert.ok(await world.until(() => world.joined === 'Home', 2), 'and again, from the profile alone');
  await world.stop();
});

test('a file forces provisioning while the machine is online, and is removed at once', async () => {
  const world = new NetworkWorld();
  await online(world);
  world.machine.files.put('etc/force_provisioning_mode', new Uint8Array());
  assert.ok(await world.until(() => world.hotspot !== '', 1));
  assert.equal(world.machine.files.get('etc/force_provisioning_mode'), undefined);
  await world.pass(9);
  assert.notEqual(world.hotspot, '', 'it lasts for the retry timeout');
  assert.ok(await world.until(() => world.joined === 'Home', 3), 'without a user it ends');
  await world.stop();
});

test('a machine that stays offline is rebooted with growing spacing, over its reboots', async () => {
  const world = new NetworkWorld();
  world.configure({ network_configuration: { device_reboot_after_offline_minutes: 20 } });
  await online(world);
  world.network.setAccessPoint('Home', { isOn: false });
  const spans: number[] = [];
  for (let n = 1; n <= 3; n++) {
    const began = world.clock.now();
    assert.ok(await world.until(() => world.reboots === n, 200), `reboot ${n}`);
    spans.push(Math.round((world.clock.now() - began) / minute));
    await world.cutPower();
  }
  assert.ok(spans[0]! >= 19 && spans[0]! <= 21, spans.join());
  assert.ok(spans[1]! >= 39 && spans[1]! <= 41, spans.join());
  assert.ok(spans[2]! >= 79 && spans[2]! <= 81, spans.join());
  await world.stop();
});

test('a machine without NetworkManager reports it; one that is installed later is used', async () => {
  const world = new NetworkWorld();
  world.network.setManager('absent');
  world.network.setAccessPoint('Home');
  world.start();
  await world.pass(5);
  assert.equal(world.status.get()?.why, 'NetworkManager is not installed or does not run');
  assert.equal(world.hotspot, '');
  world.network.setManager('ready');
  assert.ok(await world.until(() => world.hotspot !== '', 3));
  assert.equal(await world.enter('Home', 'password1'), 'ok');
  assert.ok(await world.until(() => world.joined === 'Home', 1));
  assert.ok(world.transcript.length < 30, world.transcript.join('\n'));
  await world.stop();
});

test('disabling the configuration over the network in use leaves the machine online', async () => {
  const world = new NetworkWorld();
  await online(world);
  world.configure({ advanced_settings: { disable_network_configuration: true } });
  await world.pass(2);
  assert.equal(world.joined, 'Home');
  assert.equal(world.status.get()?.mode, 'unmanaged');
  assert.equal(
    world.status.get()?.why,
    'disable_network_configuration is true; left to the system: Home; restored: hotspot names',
  );
  const [profile] = world.network.state.get().profiles;
  assert.deepEqual([profile?.ssid, profile?.mark, profile?.isAutoconnect], ['Home', undefined, true]);
  await world.cutPower();
  assert.ok(await world.until(() => world.joined === 'Home', 1), 'also after a cold boot');
  await world.stop();
});

test('a port of another program: the hotspot goes down again and the reason is shown', async () => {
  const world = new NetworkWorld();
  world.endpointProblem = 'port 80 belongs to nginx, process 7';
  world.start();
  await world.pass(4);
  assert.equal(world.hotspot, '');
  assert.equal(world.status.get()?.why, 'the hotspot could not be started: port 80 belongs to nginx, process 7');
  world.endpointProblem = '';
  assert.ok(await world.until(() => world.hotspot !== '', 11));
  await world.stop();
});

test('a long name of the hotspot is cut to 32 bytes, with one line in the log', async () => {
  const world = new NetworkWorld();
  world.configure({ network_configuration: { hotspot_prefix: 'the-prefix-of-a-manufacturer-ä' } });
  world.start();
  await world.until(() => world.hotspot !== '', 5);
  assert.equal(Buffer.byteLength(world.hotspot) <= 32, true);
  await world.pass(15);
  assert.equal(world.transcript.filter((line) => line.includes('is cut to 32 bytes')).length, 1);
  await world.stop();
});

test('an app ends provisioning without entering anything: the hotspot closes, and the known network is joined', async () => {
  const world = new NetworkWorld();
  await online(world);
  world.network.setAccessPoint('Home', { isOn: false });
  await world.until(() => world.view !== undefined, 5);
  world.active();
  world.network.setAccessPoint('Home', { isOn: true });
  world.exit();
  assert.ok(await world.until(() => world.joined === 'Home' && world.hotspot === '', 1), 'the user is not waited for');
  await world.stop();
});

test('a network with IPv6 only is used; without internet, a text of its own says why not', async () => {
  const world = new NetworkWorld();
  world.configure({ network_configuration: { turn_on_hotspot_if_wifi_has_no_internet: true } });
  world.network.setAccessPoint('Six', { isIpv6Only: true, internet: 'none' });
  world.start();
  await world.until(() => world.view !== undefined, 5);
  assert.equal(await world.enter('Six', 'password1'), 'ok');
  assert.ok(await world.until(() => world.view === undefined, 1));
  assert.ok(await world.until(() => world.view?.get().lastAttempt?.result === 'ipv6-only', 2), 'the page says so');
  const { result, text } = world.status.get()!.attempts[0]!;
  assert.deepEqual(
    [result, text],
    ['no-internet', 'Connected to Six, which gives IPv6 addresses only, but there is no internet through it.'],
  );
  world.network.setAccessPoint('Six', { internet: 'full' });
  assert.equal(await world.enter('Six', 'password1'), 'ok');
  assert.ok(await world.until(() => world.status.get()?.mode === 'normal' && world.joined === 'Six', 3));
  await world.pass(1);
  assert.deepEqual(world.status.get()?.notes, ['Six gives IPv6 addresses only']);
  await world.stop();
});

test('two radios: one is used, the other is named; the one in use is unplugged, and comes back', async () => {
  const world = new NetworkWorld(['wlan0', 'wlan1']);
  world.configure({ network_configuration: { hotspot_interface: 'wlan1' } });
  await online(world);
  assert.deepEqual(world.status.get()?.notes, ['wlan0 is a second radio: the agent uses wlan1 (hotspot_interface)']);
  world.network.setRadios(['wlan0']);
  await world.pass(1);
  assert.deepEqual(world.status.get()?.notes, ['the WiFi radio wlan1 is not plugged in']);
  await world.pass(30);
  assert.equal(world.status.get()?.mode, 'normal', 'it works on without a radio');
  world.network.setRadios(['wlan0', 'wlan1']);
  assert.ok(await world.until(() => world.joined === 'Home', 15));
  await world.stop();
});

test('credentials for a device that has valid ones are refused, and nothing else of the submission is taken', async () => {
  const world = new NetworkWorld();
  world.network.setAccessPoint('Home');
  world.start();
  await world.until(() => world.view !== undefined, 5);
  const refused = await world.enter('Home', 'password1', { credentials: '{}' });
  assert.equal(refused, 'This machine has other credentials.');
  await world.pass(1);
  assert.deepEqual([world.network.state.get().profiles.length, world.joined], [0, '']);
  await world.stop();
});

test('a hotspot whose channel a new country forbids moves, while the machine is online by a cable', async () => {
  const world = new NetworkWorld();
  const country = (wifi_country: string) => world.configure({ network_configuration: { wifi_country } });
  country('US');
  world.network.setCable('eth0');
  world.start();
  await world.pass(1);
  world.provisioning?.force();
  assert.ok(await world.until(() => world.hotspot !== '', 2), 'hotspot');
  world.network.forbidding = ['PK'];
  country('PK');
  assert.ok(await world.until(() => world.hotspot === '', 1), 'it leaves its channel');
  world.network.forbidding = []; // it starts on another one
  assert.ok(await world.until(() => world.hotspot !== '', 2), 'it is back');
  assert.equal(world.network.country, 'PK');
  assert.ok(world.transcript.some((line) => line.includes('the hotspot moves')));
  await world.stop();
});

test('settings of a running hotspot take effect when no phone is connected; until then the status says what is on the air', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.start();
  assert.ok(await world.until(() => world.view !== undefined, 5));
  world.network.clients = 1;
  const changed = { hotspot_prefix: 'works', hotspot_password: 'another-one', disable_captive_portal_redirect: true };
  world.configure({ network_configuration: changed });
  await world.pass(1);
  const status = world.status.get();
  assert.equal(world.hotspot, 'platform-setup-barn');
  assert.equal(status?.hotspotSsid, 'platform-setup-barn');
  assert.deepEqual(status?.hotspotWaiting, {
    fields: ['SSID', 'hotspot_password', 'disable_captive_portal_redirect'],
    why: 'a phone is connected to the hotspot',
  });
  assert.match(status?.notes.join() ?? '', /runs with its earlier SSID, hotspot_password, .* a phone is connected/);
  world.network.clients = 0;
  assert.ok(await world.until(() => world.hotspot === 'works-barn' && world.view !== undefined, 1));
  assert.deepEqual([world.network.hotspot?.password, world.network.isRedirecting], ['another-one', false]);
  await world.pass(0.2);
  assert.equal(world.status.get()?.hotspotSsid, 'works-barn');
  assert.deepEqual(world.status.get()?.hotspotWaiting, { fields: [], why: '' });
  await world.stop();
});

test('a renamed host: its hotspot has the new name within a minute, and waits for a phone that is connected', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.start();
  assert.ok(await world.until(() => world.hotspot === 'platform-setup-barn' && world.view !== undefined, 5));
  world.network.clients = 1;
  world.hostname = 'mill';
  await world.pass(1.2);
  assert.equal(world.status.get()?.hotspotSsid, 'platform-setup-barn');
  assert.deepEqual(world.status.get()?.hotspotWaiting, {
    fields: ['SSID'],
    why: 'a phone is connected to the hotspot',
  });
  world.network.clients = 0;
  assert.ok(await world.until(() => world.hotspot === 'platform-setup-mill' && world.view !== undefined, 1.2));
  await world.pass(0.2);
  assert.deepEqual(world.status.get()?.hotspotWaiting, { fields: [], why: '' });
  world.configure({ network_configuration: { hotspot_ssid: 'Fixed' } });
  assert.ok(await world.until(() => world.hotspot === 'Fixed', 2));
  world.hostname = 'barn';
  await world.pass(2);
  assert.equal(world.hotspot, 'Fixed', 'its name is not that of the host');
  await world.stop();
});

test('an agent that is stopped takes its hotspot off the air', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.start();
  assert.ok(await world.until(() => world.hotspot !== '', 5));
  await world.stop();
  assert.equal(world.hotspot, '');
});

test('the hotspot of an agent that was killed ends when the next one starts, also online by a cable', async () => {
  const world = new NetworkWorld();
  const { network, clock } = world;
  network.setCable('eth0');
  network.addForeignProfile({ name: 'Wired connection 1', type: 'wired', routeMetric: 100 });
  const of = {
    interface: 'wlan0',
    ssid: 'left',
    password: 'platformsetup',
    isRedirecting: true,
    isSharing: false,
  } as const;
  const starting = network.startHotspot({ ...of, band: '' }, new AbortController().signal);
  await clock.advance(5_000);
  await starting;
  world.start();
  assert.ok(await world.until(() => world.hotspot === '' && world.status.get()?.mode === 'normal', 1));
  await world.stop();
});

test('a hotspot that cannot be kept from routing goes off the air, and the reason is shown', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.start();
  assert.ok(await world.until(() => world.view !== undefined, 5));
  world.network.routing.set('the kernel could route its clients');
  assert.ok(await world.until(() => world.hotspot === '', 1));
  assert.equal(world.status.get()?.why, 'the hotspot could not be started: the kernel could route its clients');
  world.network.routing.set('');
  assert.ok(await world.until(() => world.hotspot !== '', 2));
  await world.stop();
});
