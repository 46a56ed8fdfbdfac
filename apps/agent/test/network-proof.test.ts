// What proves a change of networks: links that no longer use the old ones, and answers since. And what happens to a
// change without this proof.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setCondition } from '../src/health/condition-set.ts';
import { NetworkWorld } from './network-world.ts';

const home = { type: 'wifi', ssid: 'Home', psk: 'password1', priority: 10 };
const spare = { type: 'wifi', ssid: 'Spare', psk: 'password1', priority: 5 };
const roaming = { turn_on_hotspot_if_wifi_has_no_internet: true };

const isRolledBack = (world: NetworkWorld): boolean =>
  world.applied.get().failure?.code === 'NETWORK_CHANGE_ROLLED_BACK';
const condition = (world: NetworkWorld) =>
  world.conditions.get().find(({ code }) => code === 'NETWORK_CHANGE_ROLLED_BACK');

/** Online by Home; the server is reached. */
async function online(agent: object): Promise<NetworkWorld> {
  const world = new NetworkWorld();
  for (const ssid of ['Home', 'Spare']) world.network.setAccessPoint(ssid);
  world.configure(agent);
  world.start();
  assert.ok(await world.until(() => world.joined === 'Home' && world.applied.get().revision === 2, 3));
  world.isReached.set(true);
  await world.pass(1);
  return world;
}

for (const [mode, network_configuration] of [
  ['single', {}],
  ['roaming', roaming],
] as const) {
  test(`${mode} mode: the only network is removed: never in effect, and the machine is back by it`, async () => {
    const world = await online({ network_configuration, additional_networks: [home] });
    world.configure({ network_configuration, additional_networks: [] });
    const isEver = await world.until(() => world.applied.get().revision === 3, 10);
    assert.equal(isEver, false, 'an answer over the link that goes down proves nothing');
    assert.ok(isRolledBack(world));
    assert.match(condition(world)?.message ?? '', /the management server was not reached after the change/);
    assert.equal(world.joined, 'Home');
    assert.equal(world.hotspot, '');
    await world.stop();
  });

  test(`${mode} mode: the network in use is removed and another one works: in effect, online by the other`, async () => {
    const world = await online({ network_configuration, additional_networks: [home, spare] });
    world.configure({ network_configuration, additional_networks: [spare] });
    assert.ok(await world.until(() => world.applied.get().revision === 3, 5), world.transcript.slice(-9).join('\n'));
    assert.equal(world.joined, 'Spare');
    assert.equal(condition(world), undefined);
    await world.pass(5);
    assert.deepEqual([world.joined, world.hotspot], ['Spare', '']);
    await world.stop();
  });
}

test('the network in use is removed beside a cable: in effect, online by the cable', async () => {
  const world = await online({ additional_networks: [home] });
  world.network.setCable('eth0');
  world.network.addForeignProfile({ name: 'Wired connection 1', type: 'wired' });
  await world.pass(1);
  world.configure({ additional_networks: [] });
  assert.ok(await world.until(() => world.applied.get().revision === 3, 5));
  assert.equal(world.joined, '');
  assert.equal(condition(world), undefined);
  await world.stop();
});

test('the contacts that prove a change begin after the old link is gone; two are needed', async () => {
  const world = await online({ additional_networks: [home, spare] });
  const contacts: string[] = [];
  const check = world.network.checkConnectivity.bind(world.network);
  world.network.checkConnectivity = async (signal) => {
    contacts.push(world.network.state.get().devices.find(({ ssid }) => ssid !== '')?.ssid ?? 'none');
    return check(signal);
  };
  world.configure({ additional_networks: [spare] });
  assert.ok(await world.until(() => world.applied.get().revision === 3, 5));
  assert.deepEqual(contacts.slice(-2), ['Spare', 'Spare']);
  assert.ok(!contacts.includes('Home'), contacts.join(' '));
  await world.stop();
});

test('a link that NetworkManager does not take down proves nothing either', async () => {
  const world = await online({ additional_networks: [home] });
  world.network.remove = async () => {}; // it answers, and the link stays
  world.configure({ additional_networks: [] });
  await world.pass(5);
  assert.match(condition(world)?.message ?? '', /Home was removed and is still in use after 30 s/);
  assert.equal(world.joined, 'Home');
  await world.stop();
});

/** Online by Home, with a cable in eth0 that no network uses. */
async function besideCable(internet: 'full' | 'none', wired: object = {}): Promise<NetworkWorld> {
  const world = await online({ additional_networks: [home] });
  world.network.setCable('eth0', { internet });
  await world.pass(1);
  world.configure({ additional_networks: [home, { type: 'wired', name: 'cable', interface: 'eth0', ...wired }] });
  return world;
}
const routed = (world: NetworkWorld): string | undefined =>
  world.network.state.get().devices.find(({ hasDefaultRoute }) => hasDefaultRoute)?.interface;

test('a new wired network whose gateway is dead takes the default route: rolled back, online as before', async () => {
  const world = await besideCable('none');
  const isEver = await world.until(() => world.applied.get().revision === 3, 10);
  assert.equal(isEver, false, 'never in effect');
  assert.match(condition(world)?.message ?? '', /the management server was not reached after the change/);
  assert.match(condition(world)?.remedy ?? '', /tries this change again after .* UTC/);
  assert.deepEqual([world.joined, routed(world)], ['Home', 'wlan0']);
  await world.stop();
});

test('a new wired network that works, or that gets no address, is in effect', async () => {
  const works = await besideCable('full');
  assert.ok(await works.until(() => works.applied.get().revision === 3, 5));
  assert.deepEqual([works.joined, routed(works)], ['Home', 'eth0']);
  await works.stop();
  const silent = await online({ additional_networks: [home] });
  silent.network.setCable('eth0', { hasDhcp: false });
  await silent.pass(1);
  silent.configure({ additional_networks: [home, { type: 'wired', name: 'cable', interface: 'eth0' }] });
  assert.ok(await silent.until(() => silent.applied.get().revision === 3, 5));
  assert.deepEqual([silent.joined, routed(silent)], ['Home', 'wlan0']);
  await silent.stop();
});

test('an unused wired network is changed to a dead gateway: rolled back to its earlier form', async () => {
  const world = await online({ additional_networks: [home] });
  world.network.setCable('eth0', { hasDhcp: false });
  await world.pass(1);
  const cable = { type: 'wired', name: 'cable', interface: 'eth0' };
  world.configure({ additional_networks: [home, cable] });
  assert.ok(await world.until(() => world.applied.get().revision === 3, 5));
  const dead = { ...cable, ipv4_address: '10.9.9.9/24', ipv4_gateway: '10.9.9.1' };
  world.configure({ additional_networks: [home, dead] });
  assert.equal(await world.until(() => world.applied.get().revision === 4, 10), false);
  assert.ok(isRolledBack(world));
  assert.deepEqual([world.joined, routed(world)], ['Home', 'wlan0']);
  await world.stop();
});

test('the power fails during the trial of a dead wired network: it is gone after the boot, and tried again later', async () => {
  const world = await besideCable('none');
  assert.ok(await world.until(() => routed(world) === 'eth0', 1));
  await world.pass(0.6); // its profile is on the disk
  assert.equal(isRolledBack(world), false, 'the trial goes on');
  world.isReached.set(false);
  await world.cutPower();
  assert.ok(await world.until(() => routed(world) === 'wlan0', 4), world.transcript.slice(-9).join('\n'));
  world.isReached.set(true);
  await world.pass(4);
  assert.deepEqual([world.joined, routed(world)], ['Home', 'wlan0']);
  assert.match(condition(world)?.message ?? '', /the power failed, or the agent was killed, during its trial/);
  await world.stop();
});

/** Online by Home, whose new password it refused. */
async function refusedPassword(): Promise<NetworkWorld> {
  const world = await online({ additional_networks: [home] });
  world.configure({ additional_networks: [{ ...home, psk: 'password2' }] });
  assert.ok(await world.until(() => isRolledBack(world), 5));
  assert.match(condition(world)?.message ?? '', /Home could not be joined: wrong-password/);
  assert.ok(await world.until(() => world.joined === 'Home', 2), 'the earlier password works');
  return world;
}

test('a password that the network refused is tried again when it refuses the earlier one, too', async () => {
  const world = await refusedPassword();
  world.network.setAccessPoint('Home', { password: 'password2' });
  world.isReached.set(false);
  const isBack = await world.until(() => world.joined === 'Home', 20);
  assert.ok(isBack, world.transcript.slice(-9).join('\n'));
  world.isReached.set(true);
  assert.ok(await world.until(() => world.applied.get().revision === 3, 3));
  assert.equal(condition(world), undefined);
  await world.pass(5);
  assert.deepEqual([world.joined, world.hotspot], ['Home', '']);
  assert.doesNotMatch(world.transcript.join('\n'), /password[12]/);
  await world.stop();
});

test('a router with a third password takes neither; with the earlier one again, the machine is back by it', async () => {
  const world = await refusedPassword();
  world.network.setAccessPoint('Home', { password: 'password3' });
  world.isReached.set(false);
  assert.ok(await world.until(() => world.hotspot !== '', 5), 'its owner can set it up');
  await world.pass(15);
  assert.ok(isRolledBack(world));
  world.network.setAccessPoint('Home', { password: 'password1' });
  assert.ok(await world.until(() => world.joined === 'Home', 20), world.transcript.slice(-9).join('\n'));
  assert.ok(isRolledBack(world));
  await world.stop();
});

test('the power fails while a refused password is tried again: the earlier one is back', async () => {
  const world = await refusedPassword();
  world.network.setAccessPoint('Home', { password: 'password3' });
  world.isReached.set(false);
  const { join } = world.network;
  let joins = 0;
  world.network.join = (...of) => (++joins === 2 ? new Promise<never>(() => {}) : join.apply(world.network, of));
  assert.ok(await world.until(() => joins === 2, 20));
  world.network.setAccessPoint('Home', { password: 'password1' });
  await world.pass(0.1);
  await world.cutPower();
  assert.ok(await world.until(() => world.joined === 'Home', 20), world.transcript.slice(-9).join('\n'));
  await world.stop();
});

/** A correct change, spoiled: the internet is gone during its trial. */
async function spoiled(): Promise<NetworkWorld> {
  const world = await online({ additional_networks: [home] });
  world.network.setAccessPoint('Home', { internet: 'none' });
  world.configure({ additional_networks: [{ ...home, priority: 3 }] });
  assert.ok(await world.until(() => isRolledBack(world), 5));
  world.isReached.set(false);
  return world;
}

const priorityOf = (world: NetworkWorld): number | undefined =>
  world.network.state.get().profiles.find(({ ssid }) => ssid === 'Home')?.priority;

test('a correct change that an outage spoiled is tried again when the server has been reachable for 5 minutes', async () => {
  const world = await spoiled();
  assert.match(condition(world)?.remedy ?? '', /tries this change again after .* UTC, once .* \(trial 2 of 5\)/);
  await world.pass(60);
  assert.ok(isRolledBack(world), 'not during the outage');
  world.network.setAccessPoint('Home', { internet: 'full' });
  world.isReached.set(true);
  await world.pass(4.5);
  assert.ok(isRolledBack(world), 'not at once');
  assert.ok(await world.until(() => world.applied.get().revision === 3, 3));
  assert.deepEqual([priorityOf(world), condition(world), world.joined], [3, undefined, 'Home']);
  await world.stop();
});

test('a short outage: it is tried again 10 minutes after its trial, also by the next agent', async () => {
  const world = await spoiled();
  await world.stop();
  world.network.setAccessPoint('Home', { internet: 'full' });
  world.isReached.set(true);
  world.start();
  await world.pass(8);
  assert.ok(isRolledBack(world));
  assert.ok(await world.until(() => world.applied.get().revision === 3, 4));
  await world.stop();
});

test('a change that really cuts the machine off is tried again after 10 minutes, then after an hour', async () => {
  const world = await online({ additional_networks: [home] });
  const trials: number[] = [];
  const checkpoint = world.network.checkpoint.bind(world.network);
  const started = world.clock.now();
  world.network.checkpoint = async (seconds) => {
    trials.push(Math.round((world.clock.now() - started) / 60_000));
    return checkpoint(seconds);
  };
  world.configure({ additional_networks: [{ ...home, ssid: 'Nowhere' }] });
  await world.pass(100);
  assert.equal(trials.length, 3, trials.join(' '));
  const [first = 0, second = 0, third = 0] = trials;
  assert.ok(second - first >= 10 && second - first <= 13, trials.join(' '));
  assert.ok(third - second >= 60 && third - second <= 63, trials.join(' '));
  assert.match(condition(world)?.remedy ?? '', /\(trial 4 of 5\)/);
  assert.equal(world.joined, 'Home');
  await world.stop();
});

test('what a network refuses is not tried again: no outage explains it', async () => {
  const world = await online({ additional_networks: [home] });
  world.configure({ additional_networks: [{ ...home, psk: 'not the password' }] });
  assert.ok(await world.until(() => isRolledBack(world), 5));
  assert.match(
    condition(world)?.remedy ?? '',
    /The agent tries again when additional_networks changes, or when the network refuses the earlier password/,
  );
  const joins = world.network.joins.length;
  await world.pass(90);
  assert.equal(world.network.joins.length, joins);
  await world.stop();
});

/** Before the first answer of the management server: only the factory's networks are known. */
function fromFactory({ credentials }: { credentials: 'none' | 'given' }): NetworkWorld {
  const world = new NetworkWorld();
  world.network.setAccessPoint('Home');
  world.credentials.set(credentials);
  world.configure({ additional_networks: [home] });
  world.settings.update((settings) => ({
    ...settings,
    revision: 0,
    isPreliminary: credentials === 'given',
    isKnown: false,
  }));
  return world;
}

for (const credentials of ['none', 'given'] as const) {
  test(`factory networks, credentials ${credentials}: joined before any hotspot is opened`, async () => {
    const world = fromFactory({ credentials });
    const { startHotspot } = world.network;
    let starts = 0;
    world.network.startHotspot = (...of) => (starts++, startHotspot.apply(world.network, of));
    world.start();
    assert.ok(await world.until(() => world.joined === 'Home', 2), world.transcript.join('\n'));
    await world.pass(5);
    assert.deepEqual([starts, world.joined], [0, 'Home']);
    await world.stop();
  });
}

test('factory networks that are out of reach: the hotspot opens after the limit', async () => {
  const world = fromFactory({ credentials: 'none' });
  world.network.setAccessPoint('Home', { isOn: false });
  world.start();
  assert.ok(await world.until(() => world.hotspot !== '', 4));
  await world.stop();
});

test('the server answers that nothing is saved: the networks of the factory hold, others of this agent go', async () => {
  const world = await online({ additional_networks: [home, spare] });
  world.configure({ additional_networks: [home] });
  world.settings.update((settings) => ({ ...settings, revision: 0, isKnown: true }));
  assert.ok(await world.until(() => world.network.state.get().profiles.length === 1, 3));
  assert.deepEqual(
    [world.joined, world.applied.get()],
    ['Home', { revision: 0, configSha256: '', failure: undefined }],
  );
  await world.stop();
});

test('credentials that have never worked: the hotspot is back after a minute, says why, and takes others', async () => {
  const world = new NetworkWorld();
  world.network.setAccessPoint('Home');
  world.configure({ additional_networks: [home] });
  world.unproven.set({ of: 'a server with an authority that is not known' });
  world.start();
  assert.ok(await world.until(() => world.joined === 'Home', 2));
  const problem = 'unable to verify the first certificate';
  setCondition(world.conditions, 'CLOUD_CERTIFICATE_REFUSED', { address: 'https://fleet.test', problem });
  await world.pass(0.5);
  assert.equal(world.hotspot, '');
  assert.ok(await world.until(() => world.view !== undefined, 2), 'the hotspot');
  const view = world.view?.get();
  assert.match(
    view?.credentialsProblem ?? '',
    /^The credentials of this device have never worked\. The certificate of https:\/\/fleet\.test is not trusted: /,
  );
  assert.deepEqual([view?.hasCredentials, view?.hasUnprovenCredentials], [false, true]);
  assert.ok(await world.until(() => world.joined === 'Home', 12), 'the network again, by turns');
  world.unproven.set(undefined); // the management server accepted them
  world.credentials.set('given');
  await world.pass(30);
  assert.deepEqual([world.joined, world.hotspot], ['Home', '']);
  await world.stop();
});

test('what was reached before a join does not count for the network that was joined', async () => {
  const world = await online({ network_configuration: roaming, additional_networks: [home] });
  world.network.setAccessPoint('Spare', { internet: 'none' });
  world.provisioning?.force();
  assert.ok(await world.until(() => world.view !== undefined, 3));
  assert.equal(await world.enter('Spare', 'password1'), 'ok');
  assert.ok(await world.until(() => world.status.get()?.attempts[0]?.network === 'Spare', 2));
  assert.equal(world.status.get()?.attempts[0]?.result, 'no-internet', 'isReached is still set');
  await world.stop();
});
