// Stories of additional networks: added, changed and removed by the configuration of the management server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steadyRows } from '../src/network/rows/network-rows.ts';
import type { JoinResult } from '../src/os/network-port.ts';
import { NetworkWorld } from './network-world.ts';

const home = { type: 'wifi', ssid: 'Home', psk: 'password1', priority: 10 };
const spare = { type: 'wifi', ssid: 'Spare', psk: 'password1', priority: 5 };
const roaming = { turn_on_hotspot_if_wifi_has_no_internet: true };

const marks = (world: NetworkWorld): string[] =>
  world.network.state
    .get()
    .profiles.map(({ mark, name }) => (mark?.kind === 'additional' ? mark.name : `foreign ${name}`))
    .toSorted();

async function machine(agent: object): Promise<NetworkWorld> {
  const world = new NetworkWorld();
  for (const ssid of ['Home', 'Spare']) world.network.setAccessPoint(ssid);
  world.configure(agent);
  world.start();
  return world;
}

test('networks are added, changed and removed; those of others stay', async () => {
  const world = await machine({ additional_networks: [home, spare] });
  world.network.addForeignProfile({ name: 'theirs', type: 'wifi', isAutoconnect: false });
  await world.pass(2);
  assert.deepEqual(marks(world), ['Home', 'Spare', 'foreign theirs']);
  assert.equal(world.joined, 'Home');
  assert.deepEqual(world.applied.get(), { revision: 2, configSha256: '', failure: undefined });
  world.configure({ additional_networks: { Home: home, third: { type: 'wired', priority: 1 } } });
  await world.pass(1);
  assert.deepEqual(marks(world), ['Home', 'foreign theirs', 'third']);
  assert.equal(world.applied.get().revision, 3);
  const joins = world.network.joins.length;
  await world.pass(30);
  assert.equal(world.network.joins.length, joins, 'a good link is not interrupted');
  await world.stop();
});

test('roaming: the higher network dies, the lower one takes over', async () => {
  const world = await machine({ network_configuration: roaming, additional_networks: [home, spare] });
  assert.ok(await world.until(() => world.joined === 'Home', 3));
  world.network.setAccessPoint('Home', { isOn: false });
  assert.ok(await world.until(() => world.joined === 'Spare' && world.status.get()?.mode === 'normal', 3));
  assert.equal(world.hotspot, '');
  assert.equal(world.status.get()?.isOnFallback, true);
  await world.stop();
});

test('roaming: a network without internet is left for one with it', async () => {
  const world = await machine({ network_configuration: roaming, additional_networks: [home, spare] });
  assert.ok(await world.until(() => world.joined === 'Home', 3));
  world.network.setAccessPoint('Home', { internet: 'none' });
  assert.ok(await world.until(() => world.joined === 'Spare', 4));
  await world.stop();
});

test('single mode: no other network in normal mode; the hotspot after the limit; there each once, in order', async () => {
  const world = await machine({ additional_networks: [home, spare] });
  assert.ok(await world.until(() => world.joined === 'Home', 3));
  world.network.setAccessPoint('Home', { isOn: false });
  world.network.setAccessPoint('Spare', { isOn: false });
  await world.pass(1.9);
  assert.deepEqual([world.joined, world.hotspot], ['', '']);
  assert.ok(await world.until(() => world.hotspot !== '', 1));
  world.network.joins.length = 0;
  world.network.setAccessPoint('Spare', { isOn: true });
  assert.ok(await world.until(() => world.joined === 'Spare', 12));
  assert.deepEqual(world.network.joins.slice(0, 1), ['Spare']);
  await world.stop();
});

test('single mode: the lower network is visible, and still not used before the hotspot', async () => {
  const world = await machine({ additional_networks: [home, spare] });
  assert.ok(await world.until(() => world.joined === 'Home', 3));
  world.network.setAccessPoint('Home', { isOn: false });
  await world.pass(1.9);
  assert.equal(world.joined, '');
  await world.stop();
});

test('a change that cuts the machine off is rolled back, reported, and not tried again', async () => {
  const world = await machine({ additional_networks: [home] });
  assert.ok(await world.until(() => world.joined === 'Home' && world.applied.get().revision === 2, 3));
  world.configure({ additional_networks: [{ ...home, psk: 'not the password' }] });
  await world.pass(5);
  assert.equal(world.joined, 'Home');
  const failure = {
    code: 'NETWORK_CHANGE_ROLLED_BACK',
    reason: 'rolled back: Home could not be joined: wrong-password',
  };
  assert.deepEqual(world.applied.get(), { revision: 2, configSha256: '', failure });
  assert.deepEqual(
    world.conditions.get().map(({ code }) => code),
    ['NETWORK_CHANGE_ROLLED_BACK'],
  );
  const tries = (): number => world.network.joins.length;
  const before = tries();
  await world.pass(60);
  assert.equal(tries(), before);
  await world.stop();
  world.start();
  await world.pass(5);
  assert.equal(tries(), before, 'also not after a restart');
  world.configure({ additional_networks: [home] });
  await world.pass(1);
  assert.deepEqual(world.conditions.get(), []);
  assert.deepEqual(world.applied.get(), { revision: 4, configSha256: '', failure: undefined });
  await world.stop();
});

test('a static address that leads nowhere is rolled back, too', async () => {
  const world = new NetworkWorld();
  world.network.setCable('eth0');
  const cable = { name: 'cable', type: 'wired', interface: 'eth0' };
  world.configure({ additional_networks: [cable] });
  world.start();
  assert.ok(await world.until(() => world.applied.get().revision === 2, 3));
  await world.pass(1);
  world.configure({ additional_networks: [{ ...cable, ipv4_address: '10.9.9.9/24', ipv4_gateway: '10.9.9.1' }] });
  await world.pass(4);
  assert.equal(world.applied.get().failure?.code, 'NETWORK_CHANGE_ROLLED_BACK');
  assert.deepEqual(world.network.state.get().devices.find(({ interface: name }) => name === 'eth0')?.addresses, [
    '192.168.1.20/24',
  ]);
  world.configure({
    additional_networks: [{ ...cable, ipv4_address: '192.168.1.77/24', ipv4_gateway: '192.168.1.1' }],
  });
  await world.pass(4);
  assert.deepEqual(world.applied.get(), { revision: 4, configSha256: '', failure: undefined });
  assert.deepEqual(world.network.state.get().devices.find(({ interface: name }) => name === 'eth0')?.addresses, [
    '192.168.1.77/24',
  ]);
  await world.stop();
});

test('the network in use is removed from the configuration: rolled back, because nothing else is there', async () => {
  const world = await machine({ additional_networks: [home] });
  assert.ok(await world.until(() => world.joined === 'Home' && world.applied.get().revision === 2, 3));
  world.configure({ additional_networks: [] });
  await world.pass(6);
  assert.equal(world.joined, 'Home');
  assert.equal(world.applied.get().failure?.code, 'NETWORK_CHANGE_ROLLED_BACK');
  await world.stop();
});

test('without NetworkManager each configured network is one condition, until it is installed', async () => {
  const world = new NetworkWorld();
  world.network.setManager('too-old');
  world.network.setAccessPoint('Home');
  world.configure({ additional_networks: [home, spare] });
  world.start();
  await world.pass(2);
  const reason = 'NetworkManager 1.30 or newer is needed, and this machine has 1.20.0';
  assert.deepEqual(
    world.conditions.get().map(({ code, message }) => [code, message]),
    ['Home', 'Spare'].map((name) => ['NETWORK_NOT_APPLIED', `The network ${name} is not applied: ${reason}.`]),
  );
  assert.deepEqual(world.applied.get().failure, { code: 'NETWORK_NOT_APPLIED', reason });
  world.network.setManager('ready');
  await world.pass(2);
  assert.deepEqual(world.conditions.get(), []);
  assert.deepEqual(marks(world), ['Home', 'Spare']);
  await world.stop();
});

const passwordOf = async (world: NetworkWorld, ssid: string): Promise<string> => {
  const { profiles } = world.network.state.get();
  const uuid = profiles.find((one) => one.ssid === ssid)?.uuid ?? '';
  return reasonOf(await world.finished(world.network.join(uuid, '', new AbortController().signal)));
};
const reasonOf = (result: JoinResult): string => (result.ok ? 'ok' : result.reason);

/** Online by Home with two more networks; then a change that cuts the machine off, and alters both others. */
async function cutOff(): Promise<{ world: NetworkWorld; uuids: string[] }> {
  const world = await machine({ additional_networks: [home, spare, { ...spare, name: 'third', ssid: 'Third' }] });
  world.network.setAccessPoint('Third');
  assert.ok(await world.until(() => world.joined === 'Home' && world.applied.get().revision === 2, 3));
  await world.pass(1);
  const uuids = world.network.state.get().profiles.map(({ uuid }) => uuid);
  world.configure({
    additional_networks: [
      { ...home, psk: 'not the password' },
      { ...spare, psk: 'another password' },
      { type: 'wired', name: 'new' },
    ],
  });
  return { world, uuids };
}

test('a rolled back change restores inactive networks that it altered or removed, and their passwords', async () => {
  const { world, uuids } = await cutOff();
  await world.pass(6);
  assert.equal(world.applied.get().failure?.code, 'NETWORK_CHANGE_ROLLED_BACK');
  assert.deepEqual(marks(world), ['Home', 'Spare', 'third']);
  assert.deepEqual(new Set(world.network.state.get().profiles.map(({ uuid }) => uuid)), new Set(uuids));
  assert.doesNotMatch(world.transcript.join('\n'), /password1|another password/);
  await world.stop();
  for (const ssid of ['Spare', 'Third']) assert.equal(await passwordOf(world, ssid), 'ok', ssid);
});

for (const [when, minutes] of [
  ['at once, nothing of it is on the disk', 0.2],
  ['when the changed profiles are on the disk', 0.7],
] as const) {
  test(`a power cut during the trial of a change, ${when}: the networks before come back`, async () => {
    const { world } = await cutOff();
    const { network } = world;
    const join = network.join.bind(network);
    network.join = () => new Promise<never>(() => {}); // the trial takes as long as it may
    await world.pass(minutes);
    assert.equal(world.isChanging.get(), true);
    network.join = join;
    await world.cutPower();
    assert.ok(await world.until(() => world.joined === 'Home', 4), world.transcript.slice(-20).join('\n'));
    await world.pass(8);
    // The added one may stay: it is part of no link.
    assert.deepEqual(
      [world.joined, marks(world).filter((name) => name !== 'new')],
      ['Home', ['Home', 'Spare', 'third']],
    );
    assert.equal(world.applied.get().failure?.code, 'NETWORK_CHANGE_ROLLED_BACK');
    const { device } = world.machine.session();
    assert.equal(await device.disk.read('state/network-undo.json'), undefined, 'the passwords are not kept twice');
    await world.stop();
  });
}

test('a change that NetworkManager has rolled back by itself is reported as rolled back', async () => {
  const world = await machine({ additional_networks: [home] });
  assert.ok(await world.until(() => world.joined === 'Home' && world.applied.get().revision === 2, 3));
  const checkpoint = world.network.checkpoint.bind(world.network);
  world.network.checkpoint = async () => {
    const made = await checkpoint(180);
    return { ...made, confirm: async () => (await made.rollBack(), made.confirm()) };
  };
  world.configure({ additional_networks: [{ ...home, priority: 3 }] });
  await world.pass(5);
  assert.deepEqual(world.applied.get(), {
    revision: 2,
    configSha256: '',
    failure: {
      code: 'NETWORK_CHANGE_ROLLED_BACK',
      reason: 'rolled back: NetworkManager has rolled it back, because it was not confirmed within 180 s',
    },
  });
  await world.stop();
});

test('rows: a network in use, one that waits, one that goes out of range, and no change without a reason', async () => {
  const world = await machine({ network_configuration: roaming, additional_networks: [home, spare] });
  const row = (name: string) => world.status.get()?.rows?.networks.find((one) => one.name === name);
  assert.ok(await world.until(() => row('Home')?.state === 'in-use', 3));
  assert.ok(await world.until(() => row('Spare')?.state === 'waiting', 3), row('Spare')?.state);
  assert.equal(row('Home')?.path, 'agent.additional_networks[0]');
  const steady = (): string => JSON.stringify(world.status.get()?.rows && steadyRows(world.status.get()!.rows!));
  const before = steady();
  await world.pass(10);
  assert.equal(steady(), before, 'ten quiet minutes change nothing that is reported');
  world.network.setAccessPoint('Home', { isOn: false });
  assert.ok(await world.until(() => row('Spare')?.state === 'in-use', 5));
  // While a link is good, the agent asks for no scan; the operating system does, now and then.
  await world.finished(world.network.scan('wlan0', new AbortController().signal));
  assert.ok(await world.until(() => row('Home')?.state === 'out-of-range', 10), row('Home')?.state);
  assert.ok((row('Home')?.lastSeenWall ?? 0) > 0);
  await world.stop();
});

test('rows: without a radio the networks have no effect, and say so at once', async () => {
  const world = new NetworkWorld([]);
  world.configure({ network_configuration: { wifi_country: 'DE' }, additional_networks: [home] });
  world.start();
  assert.ok(await world.until(() => (world.status.get()?.rows?.networks.length ?? 0) > 0, 1));
  const rows = world.status.get()?.rows;
  assert.deepEqual([rows?.networks[0]?.state, rows?.networks[0]?.hasNoEffect], ['no-radio', true]);
  assert.deepEqual(
    rows?.ineffective.map(({ path }) => path),
    ['agent.network_configuration.wifi_country', 'agent.additional_networks[0]'],
  );
  await world.stop();
});
