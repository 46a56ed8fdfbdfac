// One contract for every implementation of the port Bluetooth: call it with a factory for each.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import type { Bluetooth, BluetoothOffer, GattWrite, WriteRefusal } from '../src/os/bluetooth-port.ts';

/** A machine with one adapter, and a phone nearby. */
export interface BluetoothWorld extends AsyncDisposable {
  bluetooth: Bluetooth;
  pass(): Promise<void>;
  setAdapter(isThere: boolean): void;
  /** Services that are advertised. */
  seen(): string[];
  /** A name of an error without its prefix: it is refused. */
  read(uuid: string): Promise<Uint8Array | string>;
  /** `ok`, or the name of an error without its prefix. */
  write(uuid: string, value: Uint8Array): Promise<string>;
  subscribe(uuid: string): Promise<void>;
  /** What the phone was notified of. */
  notified(): { uuid: string; value: Uint8Array }[];
}

const uuid = (n: number): string => `0000000${n}-0000-1000-8000-00805f9b34fb`;
const [service, other, shown, entered, data] = [uuid(1), uuid(2), uuid(3), uuid(4), uuid(5)];
const mostPasses = 2_000;

async function until(world: BluetoothWorld, what: string, holds: () => boolean): Promise<void> {
  for (let n = 0; !holds(); n++) {
    assert.ok(n < mostPasses, `${what}: ${JSON.stringify(world.bluetooth.state.get())}`);
    await world.pass();
  }
}

interface Story {
  world: BluetoothWorld;
  offer: BluetoothOffer;
  writes: GattWrite[];
  /** Answers to writes; absent: ok. */
  refusals: WriteRefusal[];
  values: Cell<ReadonlyMap<string, Uint8Array>>;
  untilOffered: () => Promise<void>;
  untilGone: () => Promise<void>;
}

export function bluetoothContract(kind: string, make: () => Promise<BluetoothWorld>): void {
  const story = (name: string, tell: (of: Story, signal: AbortController) => Promise<void>): void => {
    test(`${kind}: ${name}`, async () => {
      await using world = await make();
      const [writes, refusals]: [GattWrite[], WriteRefusal[]] = [[], []];
      const values = new Cell<ReadonlyMap<string, Uint8Array>>(new Map([[shown, Buffer.from('hello')]]));
      const offer: BluetoothOffer = {
        services: [
          { uuid: service, characteristics: [{ uuid: shown, can: ['read', 'notify'] }] },
          { uuid: other, characteristics: [{ uuid: entered, can: ['write'] }] },
        ],
        advertisements: [
          { service, name: 'device', data: '' },
          { service: other, name: '', data },
        ],
        values,
        async write(write) {
          writes.push(write);
          return refusals.shift() ?? 'ok';
        },
      };
      const stop = new AbortController();
      const running = world.bluetooth.offer(offer, stop.signal);
      const untilOffered = () =>
        until(world, 'it is offered', () => world.bluetooth.state.get().is === 'offered' && world.seen().length > 0);
      const untilGone = () => until(world, 'it is gone', () => world.bluetooth.state.get().is === 'impossible');
      try {
        await tell({ world, offer, writes, refusals, values, untilOffered, untilGone }, stop);
      } finally {
        stop.abort();
        let isOver = false;
        void running.then(() => (isOver = true));
        await until(world, 'the offer ends', () => isOver);
      }
      assert.deepEqual([world.seen(), world.bluetooth.state.get().is], [[], 'idle']);
    });
  };

  story('services are advertised, read and written', async ({ world, writes, untilOffered }) => {
    await untilOffered();
    assert.deepEqual(world.seen(), [service, other]);
    assert.deepEqual(Buffer.from(await world.read(shown)).toString(), 'hello');
    assert.equal(await world.write(entered, Buffer.alloc(256, 7)), 'ok');
    assert.deepEqual(
      writes.map((write) => [write.uuid, Buffer.from(write.value).equals(Buffer.alloc(256, 7)), write.client !== '']),
      [[entered, true, true]],
    );
  });

  story('a refused write has its reason', async ({ world, refusals, untilOffered }) => {
    await untilOffered();
    const all: WriteRefusal[] = ['NotAuthorized', 'InvalidValueLength', 'Failed'];
    refusals.push(...all);
    for (const refusal of all) assert.equal(await world.write(entered, Buffer.of(1)), refusal);
  });

  story('what can only be written is not read, and the other way round', async ({ world, writes, untilOffered }) => {
    await untilOffered();
    assert.equal(await world.read(entered), 'NotPermitted');
    assert.equal(await world.write(shown, Buffer.of(1)), 'NotPermitted');
    assert.deepEqual(writes, []);
  });

  story('a client that subscribed gets each change, and no other value', async ({ world, values, untilOffered }) => {
    await untilOffered();
    const set = (text: string): void =>
      values.set(
        new Map([
          [shown, Buffer.from(text)],
          [data, Buffer.from(text)],
        ]),
      );
    set('before');
    await world.pass();
    await world.subscribe(shown);
    for (const text of ['one', 'one', 'two']) {
      set(text);
      await until(
        world,
        `it reads ${text}`,
        () => Buffer.from(world.notified().at(-1)?.value ?? []).toString() === text,
      );
    }
    assert.deepEqual(
      world.notified().map((one) => [one.uuid, Buffer.from(one.value).toString()]),
      [
        [shown, 'one'],
        [shown, 'two'],
      ],
    );
  });

  story('an adapter that is unplugged and plugged in again is taken up', async ({ world, untilOffered, untilGone }) => {
    await untilOffered();
    for (let n = 0; n < 3; n++) {
      world.setAdapter(false);
      await untilGone();
      world.setAdapter(true);
      await untilOffered();
      assert.deepEqual(Buffer.from(await world.read(shown)).toString(), 'hello');
    }
  });

  test(`${kind}: an offer that ended can be made again`, async () => {
    await using world = await make();
    for (let n = 0; n < 2; n++) {
      const stop = new AbortController();
      const values = new Cell<ReadonlyMap<string, Uint8Array>>(new Map());
      const advertisements = [{ service, name: '', data: '' }];
      const running = world.bluetooth.offer(
        { services: [{ uuid: service, characteristics: [] }], advertisements, values, write: async () => 'ok' },
        stop.signal,
      );
      await until(world, 'it is offered', () => world.seen().length === 1);
      stop.abort();
      let isOver = false;
      void running.then(() => (isOver = true));
      await until(world, 'the offer ends', () => isOver);
      assert.deepEqual(world.seen(), []);
    }
  });
}
