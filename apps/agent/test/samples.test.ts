// Samples of what a machine uses: the counters of kernels, one contract for the real and the simulated device, and the
// way of the samples to the management server: each once, in order, over outages, restarts and power cuts.
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { create, toBinary } from '@bufbuild/protobuf';
import { SampleBatchSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import { linuxDevice } from '../src/os/linux/device.ts';
import { linuxUsage, networkBytes, processorTicks, usedMemory } from '../src/os/linux/kernel/usage.ts';
import { windowsUsage } from '../src/os/windows/device.ts';
import { SimDevice } from '../src/os/sim/device.ts';
import type { UsageReading } from '../src/os/ports.ts';
import { sampleOf } from '../src/samples/sample.ts';
import { SampleSender } from '../src/samples/sample-sender.ts';
import { SampleSpool } from '../src/samples/sample-spool.ts';
import { minute, World, type RunningAgent } from './world.ts';

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:  999    9    0    0    0     0          0         0   999    9    0    0    0     0       0          0
  eth0: 1000   10    0    0    0     0          0         0   200    2    0    0    0     0       0          0
 wlan0:   50    1    0    0    0     0          0         0     7    1    0    0    0     0       0          0
br-abc: 1000   10    0    0    0     0          0         0   200    2    0    0    0     0       0          0
`;
const rows: [name: string, found: unknown, expected: unknown][] = [
  ['processor', processorTicks('cpu  10 1 5 80 4 2 3 99 0 0\ncpu0 1 1 1 1\n'), { busy: 21, total: 105 }],
  ['processor of an old kernel', processorTicks('cpu  10 1 5 80\n'), { busy: 16, total: 96 }],
  ['no processor', processorTicks(''), undefined],
  [
    'memory',
    usedMemory('MemTotal: 100 kB\nMemFree: 5 kB\nMemAvailable: 40 kB\n'),
    { usedBytes: 61_440, sizeBytes: 102_400 },
  ],
  ['memory of a kernel before 3.14', usedMemory('MemTotal: 100 kB\nMemFree: 5 kB\n'), undefined],
  ['hardware counts once', networkBytes(netDev, (name) => name !== 'br-abc'), { receivedBytes: 1050, sentBytes: 207 }],
  ['a container has no hardware', networkBytes(netDev, () => false), { receivedBytes: 2050, sentBytes: 407 }],
  ['no network', networkBytes('', () => true), undefined],
];
for (const [name, found, expected] of rows) test(`counters: ${name}`, () => assert.deepEqual(found, expected));

const full: UsageReading = {
  processor: { busy: 1_000, total: 8_000 },
  memory: { usedBytes: 25, sizeBytes: 100 },
  disk: { usedBytes: 999_600, sizeBytes: 1_000_000 },
  temperatureCelsius: 48.34,
  network: { receivedBytes: 10_000, sentBytes: 500 },
};
const later: UsageReading = {
  ...full,
  processor: { busy: 1_250, total: 9_000 },
  network: { receivedBytes: 130_000, sentBytes: 500 },
};
for (const [name, before, now, expected] of [
  [
    'rates come from two readings, shares from the last',
    full,
    later,
    {
      processorPermille: 250,
      memoryPermille: 250,
      diskPermille: 1000,
      temperatureTenths: 483,
      receivedBytesPerSecond: 2000,
      sentBytesPerSecond: 0,
    },
  ],
  [
    'a counter that began anew is not known',
    later,
    { ...later, network: full.network },
    {
      memoryPermille: 250,
      diskPermille: 1000,
      temperatureTenths: 483,
      sentBytesPerSecond: 0,
    },
  ],
  ['what a machine does not report is absent', {}, {}, {}],
  ['a disk without a size', {}, { disk: { usedBytes: 0, sizeBytes: 0 } }, {}],
] as const)
  test(`a sample: ${name}`, () => {
    const found = sampleOf(before, now, { time: 5, ms: minute });
    assert.deepEqual(found, { time: 5, ...expected });
  });

test('what a Raspberry Pi uses', async () => {
  await using folder = await tempFolder();
  for (const [name, text] of Object.entries({
    'proc/stat': 'cpu  4705 150 1120 1644 94 0 23 0 0 0\n',
    'proc/meminfo': 'MemTotal:        3884332 kB\nMemAvailable:    3000000 kB\n',
    'proc/net/dev': netDev,
    'sys/class/thermal/thermal_zone0/temp': '48312\n',
    'sys/class/net/eth0/device/uevent': 'DRIVER=bcmgenet\n',
    'sys/class/net/wlan0/device/uevent': 'DRIVER=brcmfmac\n',
    'sys/class/net/br-abc/address': '00\n',
  })) {
    await mkdir(path.dirname(folder.file(name)), { recursive: true });
    await writeFile(folder.file(name), text);
  }
  const { disk, ...usage } = await linuxUsage(folder.path);
  assert.ok(disk && disk.usedBytes > 0);
  assert.deepEqual(usage, {
    processor: { busy: 5998, total: 7736 },
    memory: { usedBytes: 884_332 * 1024, sizeBytes: 3_884_332 * 1024 },
    temperatureCelsius: 48.312,
    network: { receivedBytes: 1050, sentBytes: 207 },
  });
});

const sim = (): SimDevice => {
  const device = new SimDevice(new FakeClock());
  device.usage = full;
  return device;
};
for (const [kind, read] of [
  ['linux', linuxDevice({ root: '/', mark: { name: 'X', value: 'x' }, clock: systemClock }).usage],
  ['windows', () => windowsUsage('/')],
  ['sim', sim().session().device.usage],
] as const) {
  test(`${kind}: counters grow, and shares are at most the whole`, async () => {
    const [first, second] = [await read?.(), await read?.()];
    assert.ok(first?.processor && second?.processor && second.processor.total >= first.processor.total);
    for (const { memory, disk, network } of [first, second]) {
      for (const share of [memory, disk]) assert.ok(share && share.usedBytes > 0 && share.usedBytes <= share.sizeBytes);
      assert.ok(!network || (network.receivedBytes >= 0 && network.sentBytes >= 0));
    }
    const sample = sampleOf(first, second, { time: 0, ms: 1 });
    assert.ok(Object.values(sample).every((value) => Number.isSafeInteger(value)));
  });
}

/** Uses a tenth more of its disk each minute, so that samples show their order. */
function world(): World {
  const w = new World();
  w.machine.usage = full;
  return w;
}
/** Counts the samples: each minute the disk has one more of a million parts used. */
function countMinutes(w: World, n: number): void {
  w.machine.usage = { disk: { usedBytes: n, sizeBytes: 1000 } };
}
async function pass(w: World, minutes: number, from: number): Promise<void> {
  for (let n = 0; n < minutes; n++) {
    countMinutes(w, (from + n) % 1000);
    await w.clock.advance(minute);
  }
}
const numbers = (w: World): (number | undefined)[] => w.cloud.samples.map(({ sample }) => sample.diskPermille);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n % 1000);
async function stop(w: World, agent: RunningAgent): Promise<void> {
  agent.stop();
  await w.clock.advance(5_000);
  await agent.done;
}

test('one sample a minute arrives with the checks, in a request each five minutes, and none is written to the disk', async () => {
  const w = world();
  const agent = w.start();
  const changes: string[] = [];
  await w.clock.advance(1_000);
  w.machine.fate = ({ do: what, path: file }) => (changes.push(`${what} ${file}`), 'ok');
  await pass(w, 60, 0);
  await w.clock.advance(6 * minute);
  assert.deepEqual(numbers(w).slice(0, 60), upTo(60));
  const gaps = w.cloud.samples.slice(1).map(({ timeMs }, n) => timeMs - w.cloud.samples[n]!.timeMs);
  assert.ok(
    gaps.every((ms) => ms === minute),
    String(gaps),
  );
  const requests = w.cloud.calls.get('samples') ?? 0;
  assert.ok(requests >= 10 && requests <= 14, `${requests} requests in an hour`);
  assert.deepEqual(
    changes.filter((change) => change.includes('samples')),
    [],
  );
  await stop(w, agent);
});

test('a sample has every value that the machine reports, and no other', async () => {
  const w = world();
  const agent = w.start();
  await w.clock.advance(1_000);
  w.machine.usage = later;
  await w.clock.advance(15 * minute);
  const [first] = w.cloud.samples;
  assert.deepEqual(
    [first?.sample.processorPermille, first?.sample.receivedBytesPerSecond, first?.sample.temperatureTenths],
    [250, 2000n, 483],
  );
  assert.equal(w.cloud.samples.at(-1)?.sample.processorPermille, undefined, 'the counters stand still');
  await stop(w, agent);
});

test('samples whose answer was lost are stored once', async () => {
  const w = world();
  const agent = w.start();
  await w.clock.advance(1_000);
  w.cloud.lostSamples = 3;
  await pass(w, 30, 0);
  await w.clock.advance(8 * minute);
  assert.deepEqual(numbers(w).slice(0, 30), upTo(30));
  assert.ok(w.cloud.lostSamples < 0);
  await stop(w, agent);
});

test('a machine that was offline, restarted and lost its power sends all, in order and once', async () => {
  const w = world();
  w.cloud.isUp = false;
  let agent = w.start();
  await w.clock.advance(1_000);
  await pass(w, 25, 0);
  await stop(w, agent);
  agent = w.start();
  await w.clock.advance(1_000);
  // All of these are on the disk: each ten are written together.
  await pass(w, 20, 25);
  w.machine.cutPower();
  w.machine.restore({ of: 'nothing' });
  agent = w.start();
  w.cloud.isUp = true;
  w.cloud.lostSamples = 1;
  w.machine.usage = {};
  await w.clock.advance(20 * minute);
  assert.deepEqual(numbers(w), upTo(45));
  await stop(w, agent);
});

/** The spool of a machine without the rest of its agent, for stories of days. */
async function spoolOf(device: SimDevice, run: string) {
  const { disk } = device.session().device;
  const clock = new FakeClock(Date.UTC(2027, 0, 1));
  const spool = await SampleSpool.open(disk, run);
  const sender = new SampleSender({ spool, time: { timeOf: ({ time }) => ({ time, isEstimated: false }) }, clock });
  const add = async (count: number, from: number): Promise<void> => {
    for (let n = 0; n < count; n++) await spool.add({ time: clock.wall(), diskPermille: from + n });
  };
  /** Sends all that waits. @returns the values */
  const send = async (): Promise<(number | undefined)[]> => {
    const sent: (number | undefined)[] = [];
    for (let batch = sender.next(); batch; batch = sender.next()) {
      assert.ok((batch.message.samples?.length ?? 0) <= 200);
      sent.push(...(batch.message.samples ?? []).map(({ diskPermille }) => diskPermille));
      await batch.accepted();
      await clock.advance(10 * minute);
    }
    return sent;
  };
  return { disk, spool, add, send };
}
const from = (first: number, count: number): number[] => Array.from({ length: count }, (_, n) => first + n);

test('a day offline over three runs comes whole and in order, and leaves no samples on the disk', async () => {
  const device = new SimDevice(new FakeClock());
  const first = await spoolOf(device, 'one');
  await first.add(705, 0);
  await first.spool.close();
  const second = await spoolOf(device, 'two');
  await second.add(735, 705);
  await second.spool.close();
  const third = await spoolOf(device, 'three');
  await third.add(7, 1_440);
  assert.deepEqual(await third.send(), from(0, 1_447));
  assert.deepEqual(await third.disk.list('samples'), ['state.json', 'state.json.last-good']);
  assert.deepEqual(await (await spoolOf(device, 'four')).send(), []);
});

test('files of sent samples that a power cut brings back are not sent again', async () => {
  const device = new SimDevice(new FakeClock());
  const first = await spoolOf(device, 'one');
  await first.add(250, 0);
  const name = 'samples/00000001.jsonl';
  const bytes = (await first.disk.read(name)) ?? assert.fail();
  await first.send();
  await first.disk.write(name, bytes);
  const second = await spoolOf(device, 'two');
  await second.add(1, 250);
  assert.deepEqual(await second.send(), [250]);
});

test('beyond 48 hours offline the oldest samples are dropped, and the disk holds less than a megabyte', async () => {
  const { disk, add, send } = await spoolOf(new SimDevice(new FakeClock()), 'x'.repeat(36));
  await add(3_500, 0);
  let bytes = 0;
  for (const name of await disk.list('samples')) bytes += (await disk.read(`samples/${name}`))?.length ?? 0;
  assert.ok(bytes > 100_000 && bytes < 1_000_000, `${bytes} bytes`);
  assert.deepEqual(await send(), from(620, 2_880));
});

test('a disk that takes nothing loses no sample while the agent runs, and a damaged segment only its torn line', async () => {
  const device = new SimDevice(new FakeClock());
  const first = await spoolOf(device, 'one');
  device.fate = ({ path: file }) => (file.startsWith('samples') ? { fail: 'ENOSPC' } : 'ok');
  await first.add(25, 0);
  device.fate = () => 'ok';
  await first.add(200, 25);
  await first.spool.close();
  const [name] = (await first.disk.list('samples')).map((file) => `samples/${file}`);
  const lines = Buffer.from((await first.disk.read(name!)) ?? assert.fail())
    .toString()
    .split('\n');
  lines[50] = lines[50]!.slice(0, 20);
  await first.disk.write(name!, Buffer.from(lines.join('\n')));
  await first.disk.write('samples/00009999.jsonl', Buffer.from('garbage'));
  const second = await spoolOf(device, 'two');
  assert.deepEqual(
    await second.send(),
    from(0, 225).filter((n) => n !== 50),
  );
});

test('samples from before the time was known are corrected, and those of an earlier run are marked', async () => {
  const clock = new FakeClock(0);
  const device = new SimDevice(clock);
  const { disk } = device.session().device;
  const spool = await SampleSpool.open(disk, 'one');
  await spool.add({ time: 1_000, diskPermille: 1 }, { run: 'before', at: 5 });
  await spool.add({ time: 2_000, diskPermille: 2 }, { run: 'now', at: 5 });
  await spool.add({ time: 3_000, diskPermille: 3 });
  const timeOf = ({ time, unsure }: { time: number; unsure?: { run: string } }) =>
    unsure
      ? { time: unsure.run === 'now' ? 90_000 : time, isEstimated: unsure.run !== 'now' }
      : { time, isEstimated: false };
  const batch = new SampleSender({ spool, time: { timeOf }, clock }).next();
  const samples = batch?.message.samples?.map(({ seconds, timeEstimated }) => [seconds, timeEstimated]);
  assert.deepEqual(
    [batch?.message.start, samples],
    [
      1n,
      [
        [0, true],
        [89, false],
        [2, false],
      ],
    ],
  );
});

test('a day of samples is less than 60 KB on the wire', async (t) => {
  const clock = new FakeClock(Date.UTC(2027, 0, 1));
  const spool = await SampleSpool.open(new SimDevice(clock).session().device.disk, 'x'.repeat(36));
  const sender = new SampleSender({ spool, time: { timeOf: ({ time }) => ({ time, isEstimated: false }) }, clock });
  let bytes = 0;
  for (let n = 0; n < 1_440; n++) {
    await clock.advance(minute);
    const busy = { receivedBytesPerSecond: 123_456_789, sentBytesPerSecond: 12_345_678, temperatureTenths: 723 };
    await spool.add({ time: clock.wall(), processorPermille: 999, memoryPermille: 800, diskPermille: 700, ...busy });
    const batch = sender.next();
    if (batch) bytes += toBinary(SampleBatchSchema, create(SampleBatchSchema, batch.message)).length;
    await batch?.accepted();
  }
  t.diagnostic(`${bytes} bytes a day`);
  assert.ok(bytes > 20_000 && bytes < 60_000, `${bytes} bytes`);
});
