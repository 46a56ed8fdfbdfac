// Stories of the end of network management: what the machine is online by stays.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NetworkHandOver } from '../src/network/profiles/hand-over.ts';
import { NetworkWorld } from './network-world.ts';

const home = { type: 'wifi', ssid: 'Home', psk: 'password1', priority: 10 };
const spare = { type: 'wifi', ssid: 'Spare', psk: 'password1', priority: 5 };
const disabled = { advanced_settings: { disable_network_configuration: true } };
const managed = {
  network_configuration: { wifi_power_save: false, wifi_country: 'DE' },
  additional_networks: [home, spare],
};

const profiles = (world: NetworkWorld): string[] =>
  world.network.state.get().profiles.map(({ ssid, mark }) => `${ssid} ${mark?.kind ?? 'of the system'}`);
const why = (world: NetworkWorld): string => world.status.get()?.why ?? '';

/** Online by Home, with Spare as another additional network, after the hotspot has run. */
async function online(): Promise<NetworkWorld> {
  const world = new NetworkWorld();
  world.start();
  assert.ok(await world.until(() => world.hotspot !== '', 5));
  for (const ssid of ['Home', 'Spare']) world.network.setAccessPoint(ssid);
  world.configure(managed);
  assert.ok(await world.until(() => world.joined === 'Home' && world.applied.get().revision === 2, 15));
  return world;
}

test('disabled: the network in use stays and loses its mark, others and the files go, and the status names all', async () => {
  const world = await online();
  world.configure({ ...managed, ...disabled });
  await world.pass(2);
  assert.deepEqual(profiles(world), ['Home of the system']);
  const { files, country } = world.network;
  assert.deepEqual([world.joined, world.hotspot, [...files], country], ['Home', '', [], '00']);
  const expected =
    'disable_network_configuration is true; left to the system: Home; removed: Spare; restored: hotspot names, power save';
  assert.equal(why(world), expected);
  await world.stop();
  await world.cutPower();
  assert.ok(await world.until(() => world.joined === 'Home', 2), 'online after a cold boot');
  await world.pass(2);
  assert.equal(why(world), expected, 'the next agent names them, too');
  await world.stop();
});

test('disabled: what a user entered at the hotspot stays, also while another network is in use', async () => {
  const world = new NetworkWorld();
  world.network.setAccessPoint('Cabin');
  world.start();
  await world.until(() => world.view !== undefined, 5);
  assert.equal(await world.enter('Cabin', 'password1'), 'ok');
  assert.ok(await world.until(() => world.joined === 'Cabin', 2));
  world.network.setAccessPoint('Cabin', { isOn: false });
  world.network.setCable('eth0');
  world.network.addForeignProfile({ name: 'Wired connection 1', type: 'wired', routeMetric: 100 });
  await world.pass(3);
  world.configure(disabled);
  await world.pass(2);
  assert.equal(why(world), 'disable_network_configuration is true; left to the system: Cabin; restored: hotspot names');
  const [cabin] = world.network.state.get().profiles.filter(({ ssid }) => ssid === 'Cabin');
  assert.deepEqual([cabin?.mark, cabin?.isAutoconnect], [undefined, true]);
  await world.stop();
});

test('enabled again and disabled again: it is handed over again', async () => {
  const world = await online();
  world.configure({ ...managed, ...disabled });
  await world.pass(2);
  world.configure(managed);
  await world.pass(3);
  assert.deepEqual(profiles(world).toSorted(), ['Home additional', 'Home of the system', 'Spare additional']);
  world.configure({ ...managed, ...disabled });
  await world.pass(2);
  assert.deepEqual(profiles(world), ['Home of the system']);
  assert.equal(why(world), 'disable_network_configuration is true; removed: Home, Spare; restored: power save');
  await world.stop();
});

for (const [at, method] of [
  ['before the mark is removed', 'disown'],
  ['before the other profile is removed', 'remove'],
  ['before the files are restored', 'restoreFiles'],
] as const) {
  test(`a power cut ${at}: the next agent goes on, by the same plan`, async () => {
    const world = await online();
    await world.pass(1); // the profiles are on the disk
    const { network } = world;
    const whole = network[method];
    Object.assign(network, { [method]: () => new Promise(() => {}) });
    world.configure({ ...managed, ...disabled });
    await world.pass(1);
    Object.assign(network, { [method]: whole });
    world.network.setAccessPoint('Home', { isOn: false });
    await world.cutPower();
    await world.pass(2);
    assert.deepEqual(profiles(world), ['Home of the system'], 'also without a link');
    world.network.setAccessPoint('Home', { isOn: true });
    assert.ok(await world.until(() => world.joined === 'Home', 3));
    assert.match(why(world), /left to the system: Home; removed: Spare; restored: hotspot names, power save$/);
    await world.stop();
  });
}

test('all networks are removed on demand, the one in use last', async () => {
  const world = await online();
  await world.stop();
  const gone: string[] = [];
  const remove = world.network.remove.bind(world.network);
  world.network.remove = async (uuid) => {
    gone.push(world.network.state.get().profiles.find((one) => one.uuid === uuid)?.ssid ?? '');
    await remove(uuid);
  };
  const stop = new AbortController();
  void world.network.run(stop.signal);
  const { device } = world.machine.session();
  const release = new NetworkHandOver({ network: world.network, disk: device.disk });
  const released = await world.finished(release.run({ isAllRemoved: true }));
  assert.deepEqual(gone, ['Spare', 'Home']);
  assert.deepEqual(released.left, []);
  assert.deepEqual([world.network.state.get().profiles, world.network.country], [[], '00']);
  stop.abort();
});
