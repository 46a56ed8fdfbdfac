// Stories of a machine whose network comes, goes and is entered by its owner.
import assert from 'node:assert/strict';
import { test } from 'node:test';
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
  assert.equal(world.status.get()?.why, 'disable_network_configuration is true; left to the system: Home');
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
