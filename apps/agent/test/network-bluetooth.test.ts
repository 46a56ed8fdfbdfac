// When provisioning over Bluetooth is offered, and what it does where the hotspot is turned off.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initial } from '../src/state-machines/provisioning-step.ts';
import type { Phase, State } from '../src/state-machines/provisioning-state.ts';
import { noReboots } from '../src/state-machines/reboot-spacing.ts';
import type { EndpointHandlers } from '../src/network/endpoints/provisioning-view.ts';
import { observationOf } from '../src/network/checks/observation.ts';
import { bluetoothWanted } from '../src/network/endpoints/bluetooth-wanted.ts';
import { machineSettings, type NetworkSettings } from '../src/network/settings/network-settings.ts';
import { NetworkWorld, settingsFor } from './network-world.ts';

const settings = (network: object, isDisabled = false): NetworkSettings => ({
  ...settingsFor({ network_configuration: network }),
  isDisabled,
});
const of = (phase: Phase): State => ({
  ...initial(machineSettings(settings({}), 'barn'), 'none', noReboots, 0),
  ...phase,
});
const joining = (why: 'normal' | 'round' | 'user' | 'entered'): Phase => ({
  at: 'joining',
  id: 1,
  until: 1,
  profile: 'p',
  of: why,
  rest: [],
});

const phases: [phase: Phase, wanted: 'on' | 'ending' | 'off'][] = [
  [{ at: 'unmanaged' }, 'off'],
  [{ at: 'online' }, 'ending'],
  [{ at: 'offline' }, 'ending'],
  [{ at: 'opening', id: 1, until: 1 }, 'on'],
  [{ at: 'hotspot', settings: '' }, 'on'],
  [{ at: 'closing', until: 1 }, 'on'],
  [{ at: 'searching', id: 1, until: 1 }, 'on'],
  [joining('user'), 'on'],
  [joining('round'), 'on'],
  [joining('normal'), 'ending'],
  [joining('entered'), 'ending'],
  [{ at: 'rebooting', until: 1 }, 'ending'],
];
for (const [phase, wanted] of phases) {
  const name = phase.at === 'joining' ? `joining, ${phase.of}` : phase.at;
  test(`Bluetooth while ${name}: ${wanted}; turned off: off`, () => {
    assert.equal(bluetoothWanted(of(phase), settings({}), 'barn').is, wanted);
    assert.equal(bluetoothWanted(of(phase), settings({ disable_bt_provisioning: true }), 'barn').is, 'off');
    assert.equal(bluetoothWanted(of(phase), settings({}, true), 'barn').is, 'off');
  });
}

test('a machine without a WiFi radio offers Bluetooth until it has credentials', () => {
  const without = (
    credentials: 'none' | 'given' | 'refused',
    at: 'online' | 'offline' | 'unmanaged',
    hasRadio = false,
  ) => {
    const state = of({ at });
    const seen = { ...observationOf(new NetworkWorld().network.state.get(), '', false, 0), hasRadio };
    const memory = { ...state.memory, credentials, seen };
    return bluetoothWanted({ ...state, memory }, settings({}), 'barn').is;
  };
  assert.deepEqual(
    [without('none', 'offline'), without('none', 'online'), without('refused', 'online')],
    ['on', 'on', 'on'],
  );
  assert.deepEqual([without('given', 'offline'), without('given', 'online')], ['ending', 'ending']);
  assert.deepEqual([without('none', 'unmanaged'), without('none', 'online', true)], ['off', 'ending']);
});

test('a machine without a WiFi radio takes credentials over Bluetooth, and refuses a network', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.network.setRadios([]);
  world.start();
  assert.ok(await world.until(() => world.bluetooth.wanted.get().is === 'on', 3));
  const submit = (entry: Parameters<EndpointHandlers['submit']>[0]) => {
    const answer = world.bluetooth.handlers?.submit(entry);
    assert.ok(answer);
    return world.finished(answer);
  };
  const wifi = { ssid: 'Home', psk: 'password1', isHidden: false };
  const refused = await submit({ wifi, credentials: '{}' });
  assert.match(refused.ok ? '' : refused.text, /no WiFi radio/);
  assert.deepEqual(await submit({ credentials: '{}' }), { ok: true });
  assert.ok(await world.until(() => world.bluetooth.wanted.get().is === 'ending', 2));
  await world.stop();
});

test('its name is that of the hotspot, in at most 26 bytes and whole characters', () => {
  const name = (network: object, hostname: string): unknown => {
    const wanted = bluetoothWanted(of({ at: 'hotspot', settings: '' }), settings(network), hostname);
    return wanted.is === 'on' ? [wanted.name, wanted.password] : wanted;
  };
  assert.deepEqual(name({ hotspot_password: 'correct horse' }, 'barn'), ['platform-setup-barn', 'correct horse']);
  assert.deepEqual(name({ hotspot_ssid: 'x'.repeat(26) }, 'barn'), ['x'.repeat(26), 'platformsetup']);
  assert.deepEqual(name({ hotspot_ssid: `${'x'.repeat(25)}ü` }, 'barn'), ['x'.repeat(25), 'platformsetup']);
});

const onlyBluetooth = { network_configuration: { disable_wifi_provisioning: true } };

test('with the hotspot turned off, a user provisions over Bluetooth alone', async () => {
  const world = new NetworkWorld();
  world.credentials.set('none');
  world.configure(onlyBluetooth);
  world.network.setAccessPoint('Home');
  world.bluetooth.state.set({ is: 'offered', adapter: 'hci0' });
  world.start();
  assert.ok(await world.until(() => world.status.get()?.mode === 'hotspot', 3));
  assert.deepEqual([world.hotspot, world.status.get()?.hotspotSsid, world.view], ['', '', undefined]);
  assert.equal(world.isOfflineByHotspot.get(), false);
  assert.equal(world.bluetooth.wanted.get().is, 'on');
  const wifi = { ssid: 'Home', psk: 'password1', isHidden: false };
  const answer = world.bluetooth.handlers?.submit({ wifi, credentials: '{}' });
  assert.ok(answer);
  assert.deepEqual(await world.finished(answer), { ok: true });
  assert.equal(world.bluetooth.wanted.get().is, 'on', 'while the network is joined');
  assert.ok(await world.until(() => world.joined === 'Home', 2));
  assert.ok(await world.until(() => world.bluetooth.wanted.get().is === 'ending', 2));
  await world.stop();
});

const refusals: [name: string, network: object, why: RegExp][] = [
  ['without an adapter', {}, /disable_wifi_provisioning is true, and Bluetooth is not available: there is no adapter/],
  ['both turned off', { disable_bt_provisioning: true }, /disable_wifi_provisioning is true, as is disable_bt/],
];
for (const [name, more, why] of refusals)
  test(`with the hotspot turned off, ${name}: the status has the reason`, async () => {
    const world = new NetworkWorld();
    const { network_configuration } = onlyBluetooth;
    world.configure({ network_configuration: { ...network_configuration, ...more } });
    world.start();
    assert.ok(await world.until(() => why.test(world.status.get()?.why ?? ''), 5), world.status.get()?.why);
    assert.equal(world.hotspot, '');
    await world.stop();
  });

test('an adapter that is not ready in 30 s counts as none; turned on later, Bluetooth opens', async () => {
  const world = new NetworkWorld();
  world.configure(onlyBluetooth);
  world.bluetooth.state.set({ is: 'idle' });
  world.start();
  assert.ok(await world.until(() => /it does not start/.test(world.status.get()?.why ?? ''), 5));
  world.bluetooth.state.set({ is: 'offered', adapter: 'hci0' });
  assert.ok(await world.until(() => world.status.get()?.mode === 'hotspot', 15));
  await world.stop();
});

test('Bluetooth turned off in the configuration ends at once; the hotspot stays', async () => {
  const world = new NetworkWorld();
  world.start();
  assert.ok(await world.until(() => world.hotspot !== '', 5));
  assert.equal(world.bluetooth.wanted.get().is, 'on');
  world.configure({ network_configuration: { disable_bt_provisioning: true } });
  assert.ok(await world.until(() => world.bluetooth.wanted.get().is === 'off', 1));
  assert.notEqual(world.hotspot, '');
  await world.stop();
});
