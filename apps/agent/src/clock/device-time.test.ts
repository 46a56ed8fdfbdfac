import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cell } from '@platform/kit';
import { captureLog, FakeClock } from '@platform/kit/testing';
import { simDisk, type DiskFaults } from '../os/sim/disk.ts';
import { SimFiles } from '../os/sim/files.ts';
import { encodeChecked } from '../storage/checked-file.ts';
import { DeviceTime, wrongClockLookMs } from './device-time.ts';
import type { ConditionSet } from '../health/condition-set.ts';

const real = Date.UTC(2027, 3, 1);
const year = 365 * 86_400_000;
const hour = 3_600_000;

async function world(wall: number) {
  const clock = new FakeClock(wall);
  const [files, faults] = [new SimFiles(), {} as DiskFaults];
  const disk = simDisk(files, faults);
  const conditions: ConditionSet = new Cell([]);
  const { log } = captureLog(clock);
  let runs = 0;
  const open = async () => {
    const time = new DeviceTime({ disk, clock, conditions, log, run: `run${++runs}` });
    await time.load();
    return time;
  };
  return { clock, files, faults, conditions, open, time: await open() };
}
const record = (time: DeviceTime) => {
  const unsure = time.unsure();
  return {
    sequence: 1,
    level: 'info',
    logger: 'a',
    message: 'm',
    fields: {},
    time: time.wall(),
    ...(unsure && { unsure }),
  } as const;
};

test('a plausible clock is used without other sources', async () => {
  const { time, clock } = await world(real);
  await clock.advance(hour);
  assert.equal(time.wall(), real + hour);
  assert.equal(time.unsure(), undefined);
  assert.deepEqual(time.corrected(record(time)), record(time));
});

for (const [name, wall] of [
  ['1970', 0],
  ['years ahead', real + 30 * year],
] as const) {
  test(`a clock of ${name}: an estimate that goes on, until the cloud is heard`, async () => {
    const { time, clock, conditions } = await world(wall);
    const early = record(time);
    await clock.advance(hour);
    assert.ok(time.wall() < real && time.wall() > Date.UTC(2026, 0, 1));
    assert.equal(time.wall() - early.time, hour);
    assert.equal(time.trusted().trusted, false);
    time.heard({ wall: real, isClockRefuted: false });
    assert.equal(time.wall(), real);
    assert.equal(time.unsure(), undefined);
    assert.equal(time.corrected(early).time, real - hour);
    assert.deepEqual(
      conditions.get().map((t) => t.code),
      ['CLOCK_WRONG'],
    );
    await clock.advance(hour);
    assert.equal(time.wall(), real + hour);
  });
}

test('times that are sent are whole milliseconds, though the monotonic clock has fractions', async () => {
  const { time, clock } = await world(0);
  await clock.advance(0.123);
  const early = record(time);
  await clock.advance(1_000.456);
  const late = record(time);
  time.heard({ wall: real, isClockRefuted: false });
  await clock.advance(7.891);
  for (const ms of [early.time, late.time, time.wall(), time.corrected(early).time, time.corrected(late).time]) {
    assert.ok(Number.isInteger(ms), `${ms}`);
  }
});

test('lines of an earlier run without a clock keep their estimate, and a mark', async () => {
  const { time, open } = await world(0);
  const early = record(time);
  const next = await open();
  next.heard({ wall: real, isClockRefuted: false });
  const { time: sent, fields } = next.corrected(early);
  assert.deepEqual([sent, fields], [early.time, { time_is: 'estimated' }]);
});

test('what was known is known to the next run, and nonsense is not taken over', async () => {
  const { time, clock, files, open } = await world(0);
  time.heard({ wall: real, isClockRefuted: false });
  await clock.advance(hour);
  await time.save();
  assert.equal((await open()).wall(), real + hour);
  for (const last_seen of [0, -5, Number.MAX_SAFE_INTEGER, 'soon', null]) {
    files.put('state/time.json', encodeChecked({ last_seen }));
    const { wall } = { wall: (await open()).wall() };
    assert.ok(wall < real, `${last_seen}: ${new Date(wall).toISOString()}`);
  }
});

test('an implausible time of the server is ignored; a small difference is not a condition', async () => {
  const { time, conditions } = await world(real);
  for (const nonsense of [0, real + 100 * year, -1]) time.heard({ wall: nonsense, isClockRefuted: false });
  time.heard({ wall: real + 60_000, isClockRefuted: false });
  assert.deepEqual(conditions.get(), []);
  time.heard({ wall: real + hour, isClockRefuted: false });
  assert.deepEqual(
    conditions.get().map((t) => t.code),
    ['CLOCK_WRONG'],
  );
  time.heard({ wall: real, isClockRefuted: false });
  assert.deepEqual(conditions.get(), []);
});

test('a wrong clock that is set while the server is out of reach is not called wrong a minute later', async () => {
  const { time, clock, conditions } = await world(real);
  const stop = new AbortController();
  const running = time.run(stop.signal);
  await clock.advance(hour);
  const codes = () => conditions.get().map(({ code }) => code);
  time.heard({ wall: clock.wall() - hour, isClockRefuted: false });
  await clock.advance(24 * hour);
  assert.deepEqual(codes(), ['CLOCK_WRONG'], 'without another answer, nothing shows that it is right');
  clock.jumpWall(-hour);
  await clock.advance(wrongClockLookMs);
  assert.deepEqual(codes(), []);
  stop.abort();
  await running;
  assert.equal(clock.pending, 0);
});

test('the time is stored every six hours at most, and a full disk is ignored', async () => {
  const { time, clock, faults, files } = await world(real);
  const stop = new AbortController();
  const running = time.run(stop.signal);
  await clock.advance(13 * hour);
  assert.ok(files.get('state/time.json'));
  faults.isFull = true;
  await clock.advance(24 * hour);
  stop.abort();
  await running;
  assert.equal(clock.pending, 0);
});

test('a clock that certificates refute: the time of the server is used until the clock is set', async () => {
  const { time, clock } = await world(real + year);
  assert.equal(time.wall(), real + year, 'it may be the time');
  time.heard({ wall: real, isClockRefuted: true });
  await clock.advance(hour);
  assert.equal(time.wall(), real + hour);
  assert.equal(time.unsure(), undefined);
  clock.jumpWall(5_000 - year);
  assert.equal(time.wall(), real + hour + 5_000, 'a time server has set it');
  clock.jumpWall(year);
  time.heard({ wall: real + hour, isClockRefuted: false });
  assert.equal(time.wall(), real + year + hour + 5_000);
});
