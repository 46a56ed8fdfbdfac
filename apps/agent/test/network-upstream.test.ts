// Stories of a machine whose network works when it is joined, and whose internet dies later. NetworkManager does not
// check the way to the internet, as on Debian as it is installed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerLimitMs, measureEveryMs } from '../src/network/rows/keep-rows.ts';
import type { Connectivity } from '../src/os/network-port.ts';
import { NetworkWorld } from './network-world.ts';

const networks = (isRoaming: boolean) => ({
  network_configuration: {
    turn_on_hotspot_if_wifi_has_no_internet: isRoaming,
    offline_before_starting_hotspot_minutes: 2,
  },
  additional_networks: [
    { type: 'wifi', ssid: 'High', psk: 'password1', priority: 10 },
    { type: 'wifi', ssid: 'Low', psk: 'password1', priority: 5 },
  ],
});

/** Online by High, the management server is reached; Low is in reach. */
async function online(isRoaming: boolean): Promise<NetworkWorld> {
  const world = new NetworkWorld();
  world.network.setAccessPoint('High');
  world.network.setAccessPoint('Low');
  world.network.setCable('eth0');
  world.configure(networks(isRoaming));
  world.start();
  assert.ok(await world.until(() => world.network.state.get().profiles.length === 2, 3), 'the networks are saved');
  world.network.setCable('eth0', { isPlugged: false });
  assert.ok(await world.until(() => world.joined === 'High', 5));
  world.isReached.set(true);
  await world.pass(10);
  assert.equal(world.joined, 'High');
  return world;
}

/** Takes the internet of a network away; the agent notices with its next request to the server. */
async function dies(world: NetworkWorld, ssid: string, how: Connectivity = 'limited'): Promise<void> {
  world.network.setAccessPoint(ssid, { internet: how });
  await world.pass(1);
  if (world.joined === ssid) world.isReached.set(false);
}

for (const how of ['limited', 'none', 'portal'] as const) {
  test(`roaming, the internet dies after a good join (${how}): the other network`, async () => {
    const world = await online(true);
    await dies(world, 'High', how);
    assert.ok(await world.until(() => world.joined === 'Low', 1.5), 'the other network');
    await world.pass(1);
    assert.equal(world.status.get()?.connectivity, 'full');
    assert.equal(world.hotspot, '');
    await world.stop();
  });

  test(`roaming, every internet dies (${how}): the hotspot after its limit; well again: online`, async () => {
    const world = await online(true);
    world.network.setAccessPoint('Low', { internet: how });
    await dies(world, 'High', how);
    assert.ok(await world.until(() => world.hotspot !== '', 4), 'the hotspot');
    world.network.setAccessPoint('High', { internet: 'full' });
    assert.ok(await world.until(() => world.joined === 'High' && world.status.get()?.mode === 'normal', 12));
    await world.stop();
  });

  test(`single, the internet dies after a good join (${how}): the link stays, and the status says it`, async () => {
    const world = await online(false);
    await dies(world, 'High', how);
    await world.pass(60);
    assert.deepEqual([world.joined, world.hotspot], ['High', '']);
    assert.equal(world.status.get()?.connectivity, how);
    await world.stop();
  });
}

for (const isRoaming of [true, false])
  test(`the management server alone is away (roaming: ${isRoaming}): nothing is left, no hotspot, few checks`, async () => {
    const world = await online(isRoaming);
    const joins = world.network.joins.length;
    const checks = world.network.checks;
    world.isReached.set(false);
    await world.pass(120);
    assert.deepEqual([world.joined, world.hotspot, world.network.joins.length], ['High', '', joins]);
    assert.ok(world.network.checks - checks <= 30, `${world.network.checks - checks} checks in two hours`);
    await world.stop();
  });

test('while the management server answers, nothing else is checked', async () => {
  const world = await online(true);
  const { checks } = world.network;
  await world.pass(60);
  assert.equal(world.network.checks, checks);
  assert.equal(world.status.get()?.connectivity, 'full');
  await world.stop();
});

test('a system that checks by itself receives the question, too', async () => {
  const world = await online(true);
  world.network.isChecking = true;
  await dies(world, 'High');
  assert.ok(await world.until(() => world.joined === 'Low', 1.5));
  await world.stop();
});

test('a measurement that cannot be repeated is unknown after its time', async () => {
  const world = await online(false);
  world.network.checkConnectivity = async (signal) => {
    await world.clock.sleep(Infinity, signal);
    return 'full';
  };
  world.isReached.set(false);
  await world.pass(0.5);
  assert.equal(world.status.get()?.connectivity, 'full');
  await world.pass(7);
  assert.equal(world.status.get()?.connectivity, 'unknown');
  await world.stop();
});

test('a NetworkManager that runs and answers no question: within 70 s no row is in use any more', async () => {
  const world = await online(false);
  const states = () => (world.status.get()?.rows?.networks ?? []).map(({ state }) => state);
  await world.pass(2);
  assert.deepEqual(states(), ['in-use', 'waiting']);
  world.network.isSilent = true;
  await world.clock.advance(measureEveryMs + answerLimitMs);
  assert.deepEqual(states(), ['not-known', 'not-known']);
  for (const { text, measuredWall } of world.status.get()?.rows?.networks ?? [])
    assert.deepEqual([text, measuredWall], ['NetworkManager does not answer', null]);
  world.network.isSilent = false;
  await world.pass(2);
  assert.deepEqual(states(), ['in-use', 'waiting']);
  await world.stop();
});

test('on a fallback, the higher network is tried when it comes into reach, then ever more rarely', async () => {
  const world = await online(true);
  world.network.setAccessPoint('High', { isOn: false });
  assert.ok(await world.until(() => world.joined === 'Low', 3), 'the fallback');
  world.isReached.set(true);
  await world.pass(5);
  world.network.setAccessPoint('High', { isOn: true, internet: 'none' });
  assert.ok(await world.until(() => world.network.joins.at(-1) === 'High', 5), 'the higher one is tried');
  assert.ok(await world.until(() => world.joined === 'Low', 2), 'and left again');
  world.isReached.set(true);
  const tries = (): number => world.network.joins.filter((ssid) => ssid === 'High').length;
  const before = tries();
  for (let hour = 0; hour < 4; hour++) {
    await world.pass(60);
    world.isReached.set(true);
  }
  assert.ok(tries() - before >= 4 && tries() - before <= 7, `${tries() - before} attempts in four hours`);
  assert.equal(world.hotspot, '');
  world.network.setAccessPoint('High', { internet: 'full' });
  assert.ok(await world.until(() => world.joined === 'High', 65), 'it works again');
  await world.stop();
});

test('a fallback whose internet dies is left for the higher network at once', async () => {
  const world = await online(true);
  world.network.setAccessPoint('High', { isOn: false });
  assert.ok(await world.until(() => world.joined === 'Low', 3));
  world.isReached.set(true);
  await world.pass(20);
  world.network.setAccessPoint('High', { isOn: true });
  await dies(world, 'Low');
  assert.ok(await world.until(() => world.joined === 'High', 2));
  await world.stop();
});

test('the agent starts on a network whose internet is not measured yet: it is checked, not left', async () => {
  const world = await online(true);
  const joins = world.network.joins.length;
  await world.stop();
  world.isReached.set(false);
  world.start();
  await world.pass(5);
  assert.deepEqual([world.joined, world.network.joins.length], ['High', joins]);
  await world.stop();
});

test('a router that gives no address is named, also if it takes longer than the attempt may', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.network.noAddressMs = 60_000;
  world.network.setAccessPoint('Home', { hasDhcp: false });
  world.start();
  await world.until(() => world.view !== undefined, 2);
  assert.equal(await world.enter('Home', 'password1'), 'ok');
  assert.ok(await world.until(() => world.view === undefined, 1));
  assert.ok(await world.until(() => world.view !== undefined, 2));
  assert.equal(world.view?.get().lastAttempt?.result, 'no-address');
  await world.stop();
});

test('a hotspot that needs two minutes to start runs, and what is entered there is answered', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.network.setAccessPoint('Home');
  world.network.hotspotStartMs = 120_000;
  world.start();
  await world.pass(1.5);
  assert.deepEqual([world.status.get()?.mode, world.status.get()?.next], ['hotspot', 'the hotspot starts']);
  assert.ok(await world.until(() => world.view !== undefined, 2), 'the hotspot runs');
  assert.equal(await world.enter('Home', 'password1', { credentials: '{}' }), 'ok');
  assert.ok(await world.until(() => world.joined === 'Home', 1));
  assert.equal(world.transcript.filter((line) => line.includes('the hotspot runs')).length, 1);
  await world.stop();
});
