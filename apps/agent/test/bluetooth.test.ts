// The simulated Bluetooth and the adapter for BlueZ keep the contract of their port; BlueZ is scripted here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import type { BluetoothOffer } from '../src/os/bluetooth-port.ts';
import { bluez } from '../src/os/linux/bluez/bluez.ts';
import { createBus } from '../src/os/linux/dbus/bus.ts';
import { bytesIn, flagIn, sectionIn, textIn } from '../src/os/linux/dbus/read.ts';
import { SimBluetooth } from '../src/os/sim/bluetooth.ts';
import { bluetoothContract, type BluetoothWorld } from './bluetooth-contract.ts';
import { ScriptedBluez, servicesOf } from './scripted-bluez.ts';

bluetoothContract('simulation', async () => {
  const bluetooth = new SimBluetooth({ hasAdapter: true });
  const clock = new FakeClock();
  return {
    bluetooth,
    pass: () => clock.settle(),
    setAdapter: (isThere) => bluetooth.setAdapter(isThere),
    seen: () => bluetooth.seen(),
    read: async (uuid) => bluetooth.read(uuid),
    write: (uuid, value) => bluetooth.write(uuid, value),
    subscribe: async (uuid) => bluetooth.subscribe(uuid),
    notified: () => bluetooth.notified,
    [Symbol.asyncDispose]: async () => {},
  };
});

interface ScriptedWorld extends BluetoothWorld {
  script: ScriptedBluez;
  lines: () => string[];
}

async function scripted(): Promise<ScriptedWorld> {
  const folder = await tempFolder();
  const script = new ScriptedBluez(folder.path);
  await script.bus.listen();
  const { log, lines } = captureLog(systemClock);
  const of = { clock: systemClock, log };
  const bluetooth = bluez({ ...of, bus: () => createBus({ address: `unix:path=${script.bus.address}`, ...of }) });
  return {
    bluetooth,
    script,
    lines: () => lines.filter(({ level }) => level !== 'debug').map(({ message }) => message),
    pass: () => systemClock.sleep(5),
    setAdapter: (isThere) => script.setAdapter(isThere),
    seen: () => script.advertisements().flatMap(servicesOf),
    read: (uuid) => script.read(uuid),
    write: (uuid, value) => script.write(uuid, value),
    subscribe: (uuid) => script.subscribe(uuid),
    notified: () => script.notified(),
    async [Symbol.asyncDispose]() {
      await script[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

bluetoothContract('BlueZ', scripted);

const service = '00000001-0000-1000-8000-00805f9b34fb';
const shown = '00000002-0000-1000-8000-00805f9b34fb';
const data = '00000003-0000-1000-8000-00805f9b34fb';

/** An offer of one service with two advertisements, until the story ends. */
function story(name: string, tell: (world: ScriptedWorld, until: Until) => Promise<void>): void {
  test(`BlueZ: ${name}`, async () => {
    await using world = await scripted();
    const offer: BluetoothOffer = {
      services: [{ uuid: service, characteristics: [{ uuid: shown, can: ['read', 'write', 'notify'] }] }],
      advertisements: [
        { service, name: 'device', data: '' },
        { service, name: '', data },
      ],
      values: new Cell<ReadonlyMap<string, Uint8Array>>(
        new Map([
          [shown, Buffer.from('0123456789')],
          [data, Buffer.of(1, 2)],
        ]),
      ),
      write: async () => 'ok',
    };
    const stop = new AbortController();
    const running = world.bluetooth.offer(offer, stop.signal);
    const until: Until = async (what, holds) => {
      for (let n = 0; !holds(); n++) {
        assert.ok(n < 30_000, `${what}: ${world.lines().join('; ')}`);
        await world.pass();
      }
    };
    try {
      await tell(world, until);
    } finally {
      stop.abort();
      await running;
    }
  });
}
type Until = (what: string, holds: () => boolean) => Promise<void>;
const isOffered = (world: ScriptedWorld) => (): boolean => world.bluetooth.state.get().is === 'offered';

story('advertisements have service, name and service data', async (world, until) => {
  await until('it is offered', isOffered(world));
  const [first, second] = world.script.advertisements();
  assert.ok(first && second);
  assert.deepEqual(
    [textIn(first, 'Type'), textIn(first, 'LocalName'), servicesOf(first)],
    ['peripheral', 'device', [service]],
  );
  assert.equal(flagIn(first, 'Discoverable'), true);
  assert.deepEqual(Buffer.from(bytesIn(sectionIn(second, 'ServiceData'), data)), Buffer.of(1, 2));
});

story('a long value is read in parts', async ({ script, ...world }, until) => {
  await until('it is offered', () => world.bluetooth.state.get().is === 'offered');
  const texts = await Promise.all(
    [0, 4, 10].map(async (offset) => Buffer.from(await script.read(shown, offset)).toString()),
  );
  assert.deepEqual(texts, ['0123456789', '456789', '']);
  assert.equal(await script.read(shown, 11), 'InvalidOffset');
  assert.equal(await script.write(shown, Buffer.of(1), 4), 'InvalidOffset');
});

story('another process than BlueZ reads, writes and lists nothing', async (world, until) => {
  const { script } = world;
  await until('it is offered', isOffered(world));
  const path = script.pathOf(shown);
  const calls = [
    ['org.bluez.GattCharacteristic1', 'ReadValue'],
    ['org.bluez.GattCharacteristic1', 'WriteValue'],
    ['org.freedesktop.DBus.ObjectManager', 'GetManagedObjects'],
  ] as const;
  for (const [of, member] of calls) {
    const reply = await script.bus.call({ path, interface: of, member }, '', [], ':1.66');
    assert.equal(reply.errorName, 'org.freedesktop.DBus.Error.AccessDenied', member);
  }
});

story('calls that no object answers get the error for it', async (world, until) => {
  const { script } = world;
  await until('it is offered', isOffered(world));
  const path = script.pathOf(shown);
  const rows: [path: string, of: string, member: string, error: string][] = [
    ['/none', 'org.bluez.GattCharacteristic1', 'ReadValue', 'UnknownObject'],
    [path, 'org.bluez.GattCharacteristic1', 'Explode', 'UnknownMethod'],
    [path, 'org.bluez.GattCharacteristic1', 'toString', 'UnknownMethod'],
    [path, 'org.bluez.Other', 'ReadValue', 'UnknownMethod'],
    [path, 'org.freedesktop.DBus.Properties', 'Get', 'UnknownInterface'],
    [path, 'org.freedesktop.DBus.ObjectManager', 'GetManagedObjects', 'UnknownMethod'],
  ];
  for (const [at, of, member, error] of rows) {
    const reply = await script.bus.call({ path: at, interface: of, member }, '', []);
    assert.equal(reply.errorName, `org.freedesktop.DBus.Error.${error}`, `${at} ${of} ${member}`);
  }
});

test('BlueZ: an adapter that was switched off is on while something is offered, and off afterwards', async () => {
  await using world = await scripted();
  world.script.isPowered = false;
  const values = new Cell<ReadonlyMap<string, Uint8Array>>(new Map());
  const stop = new AbortController();
  const advertisements = [{ service, name: '', data: '' }];
  const running = world.bluetooth.offer(
    { services: [{ uuid: service, characteristics: [] }], advertisements, values, write: async () => 'ok' },
    stop.signal,
  );
  for (let n = 0; n < 30_000 && world.seen().length === 0; n++) await world.pass();
  assert.equal(world.script.isPowered, true);
  stop.abort();
  await running;
  assert.equal(world.script.isPowered, false);
});

story('an adapter that is switched off meanwhile stays off', async (world, until) => {
  await until('it is offered', isOffered(world));
  world.script.switchOff();
  await until('it says so', () => world.bluetooth.state.get().is === 'impossible');
  assert.deepEqual(world.bluetooth.state.get(), { is: 'impossible', reason: 'the Bluetooth adapter is switched off' });
  assert.equal(world.script.isPowered, false);
});

story('a radio with room for one advertisement sends the first', async (world, until) => {
  world.script.room = 1;
  await until('it is offered', isOffered(world));
  assert.equal(world.script.advertisements().length, 1);
});

story('bluetoothd that ends and starts again, and a bus that does, are taken up', async (world, until) => {
  await until('it is offered', isOffered(world));
  for (const end of [() => world.script.setRunning(false), () => world.script.bus.drop()]) {
    end();
    await until('it is gone', () => world.bluetooth.state.get().is === 'impossible');
    world.script.setRunning(true);
    await until('it is offered again', isOffered(world));
    assert.equal(Buffer.from(await world.read(shown)).toString(), '0123456789');
  }
});

test('BlueZ: a registration that fails is tried again, and each reason is logged once in a row', async () => {
  await using folder = await tempFolder();
  await using script = new ScriptedBluez(folder.path);
  await script.bus.listen();
  const clock = new FakeClock();
  const { log, lines } = captureLog(clock);
  const of = { clock, log };
  const bluetooth = bluez({ ...of, bus: () => createBus({ address: `unix:path=${script.bus.address}`, ...of }) });
  script.failures.set(
    'RegisterApplication',
    Array.from({ length: 20 }, () => 'org.bluez.Error.Failed'),
  );
  const stop = new AbortController();
  const values = new Cell<ReadonlyMap<string, Uint8Array>>(new Map());
  const offer = {
    services: [{ uuid: service, characteristics: [] }],
    advertisements: [{ service, name: '', data: '' }],
    values,
    write: async () => 'ok' as const,
  };
  const running = bluetooth.offer(offer, stop.signal);
  for (let n = 0; n < 30_000 && bluetooth.state.get().is !== 'offered'; n++) {
    await clock.advance(1_000);
    await systemClock.sleep(1);
  }
  assert.equal(bluetooth.state.get().is, 'offered');
  assert.equal(script.calls.filter((call) => call === 'RegisterApplication').length, 21);
  assert.ok(clock.now() > 10 * 60_000, 'with growing pauses');
  const logged = lines.filter(({ level }) => level !== 'debug').map(({ message }) => message);
  assert.deepEqual(logged, ['provisioning over Bluetooth is not offered', 'provisioning over Bluetooth is offered']);
  stop.abort();
  await running;
});
