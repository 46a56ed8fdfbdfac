// The client of D-Bus and the adapter for NetworkManager against implementations of others: dbus-daemon, and the
// NetworkManager of python-dbusmock.
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment, type ProcessGroup, spawnGroup, systemClock } from '@platform/kit/node';
import { captureLog, tempFolder } from '@platform/kit/testing';
import { createBus, type Peer } from '../src/os/linux/dbus/bus.ts';
import { type DBusValue, Variant } from '../src/os/linux/dbus/values.ts';
import { networkManager } from '../src/os/linux/networkmanager/network-manager.ts';
import type { Network, NetworkState } from '../src/os/network-port.ts';
import { withoutRadio } from './without-radio.ts';

const manager = 'org.freedesktop.NetworkManager';
const root = '/org/freedesktop/NetworkManager';

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let n = 0; !holds(); n++) {
    assert.ok(n < 2_000, what);
    await systemClock.sleep(20);
  }
}

const busText = (socket: string): string =>
  `<busconfig><type>system</type><listen>unix:path=${socket}</listen><policy context="default">` +
  '<allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy></busconfig>';

const mockArguments = ['-m', 'dbusmock', '--system', '--template', 'networkmanager'];

interface Mocked extends AsyncDisposable {
  network: Network;
  peer: Peer;
  /** Calls a method by which the mock is steered. */
  steer(member: string, signature: string, ...args: DBusValue[]): Promise<readonly DBusValue[]>;
  startMock(): Promise<ProcessGroup>;
}

async function mocked(): Promise<Mocked> {
  const folder = await tempFolder();
  const cleanup = new AsyncDisposableStack();
  cleanup.use(folder);
  const socket = folder.file('bus');
  const address = `unix:path=${socket}`;
  const start = async (command: string, ...args: string[]): Promise<ProcessGroup> => {
    const env = plainEnvironment({ DBUS_SYSTEM_BUS_ADDRESS: address });
    const group = await spawnGroup({ command, args, env, logFile: folder.file(`${path.basename(command)}.log`) });
    cleanup.defer(async () => void (await group.stop({ termMs: 2_000 })));
    return group;
  };
  writeFileSync(folder.file('bus.conf'), busText(socket));
  await start('/usr/bin/dbus-daemon', `--config-file=${folder.file('bus.conf')}`, '--nofork', '--nopidfile');
  await until('the bus listens', () => existsSync(socket));
  const { log } = captureLog(systemClock);
  const bus = createBus({ address, clock: systemClock, log });
  const files = { write: async () => true, restore: async () => 'not-managed' as const, written: async () => [] };
  const host = { networks: async () => [], datagramHolder: async () => undefined };
  const parts = { bus, clock: systemClock, log, files, host, ...withoutRadio(folder.path) };
  const network = networkManager({ ...parts, probe: async () => 'limited' });
  const stop = new AbortController();
  const running = network.run(stop.signal);
  cleanup.defer(async () => {
    stop.abort();
    await running;
  });
  const peer = bus.peer(manager);
  return {
    network,
    peer,
    steer: (member, signature, ...args) =>
      peer.call({ path: root, interface: 'org.freedesktop.DBus.Mock', member, signature, args }),
    startMock: () => start('/usr/bin/python3', ...mockArguments, '--parameters', '{"Version": "1.42.4"}'),
    [Symbol.asyncDispose]: () => cleanup.disposeAsync(),
  };
}

test('the adapter reads the NetworkManager of python-dbusmock on dbus-daemon', async () => {
  await using world = await mocked();
  const { network, steer } = world;
  const seen = (): NetworkState => network.state.get();
  await until('it is absent', () => seen().manager === 'absent');
  const service = await world.startMock();
  await until('it is ready', () => seen().manager === 'ready');
  assert.equal(seen().version, '1.42.4');

  const radio = `${root}/Devices/wlan0`;
  await steer('AddWiFiDevice', 'ssi', 'wlan0', 'wlan0', 30);
  for (const [name, ssid, signal, security] of [
    ['ap1', 'HomeNet', 80, 0x100],
    ['ap2', 'Weak', 12, 0],
    ['ap3', 'Café ☕', 40, 0x400],
  ] as const) {
    const values = [radio, name, ssid, '02:00:00:00:01:00', 2, 2437, 54_000, signal, security];
    await steer('AddAccessPoint', 'ssssuuuyu', ...values);
  }
  await until('three networks', () => seen().visible.length === 3);
  assert.deepEqual(
    seen().visible.map(({ ssid, security, signalPercent }) => [ssid, security, signalPercent]),
    [
      ['HomeNet', 'wpa-psk', 80],
      ['Café ☕', 'sae', 40],
      ['Weak', 'open', 12],
    ],
  );
  await steer('AddWiFiConnection', 'ssss', radio, 'Foreign', 'HomeNet', '');
  await until('a profile', () => seen().profiles.length === 1);
  const [foreign] = seen().profiles;
  assert.deepEqual([foreign?.ssid, foreign?.type, foreign?.mark], ['HomeNet', 'wifi', undefined]);
  await assert.rejects(network.remove(foreign?.uuid ?? ''), { code: 'platform.NotOwned' });
  assert.equal(await network.checkConnectivity(AbortSignal.timeout(10_000)), 'limited');

  await service.stop({ termMs: 2_000 });
  await until('it is absent again', () => seen().manager === 'absent');
});

/** Types at their limits, and nested as in the settings of a profile. */
const values: readonly [signature: string, value: DBusValue][] = [
  ['t', 2n ** 64n - 1n],
  ['x', -(2n ** 63n)],
  ['s', 'Grüße ☕'],
  ['(ybnqiud)', [255, true, -1, 65_535, -7, 4_294_967_295, 0.25]],
  ['a{sv}', new Map([['k', new Variant('u', 7)]])],
  ['a{sa{sv}}', new Map([['user', new Map([['data', new Variant('a{ss}', new Map([['a.b', 'c']]))]])]])],
];

test('values pass through dbus-daemon and another implementation of D-Bus unchanged', async () => {
  await using world = await mocked();
  await world.startMock();
  await until('it is ready', () => world.network.state.get().manager === 'ready');
  for (const [n, [signature, value]] of values.entries()) {
    const member = `Echo${n}`;
    await world.steer('AddMethod', 'sssss', 'test.Echo', member, signature, signature, 'ret = args[0]');
    const call = { path: root, interface: 'test.Echo', member, signature, args: [value] };
    const [back] = await world.peer.call(call);
    assert.deepEqual(back, value, signature);
  }
  await assert.rejects(world.peer.call({ path: root, interface: 'test.Echo', member: 'Missing' }), {
    code: 'org.freedesktop.DBus.Error.UnknownMethod',
  });
});
