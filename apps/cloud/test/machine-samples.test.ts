// Samples of what machines use: each is stored once, in bounds, and answered by time with averages where there are many.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { sql } from 'kysely';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { FleetService, type SampleBatchSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import { createDays, daysOf, dropDay } from '../src/database/day-partitions.ts';
import { dayOf } from '../src/database/rules/days.ts';
import { answeredSamples, intervalOf, mostSamplesPerDay } from '../src/machines/rules/samples.ts';
import { readSamples } from '../src/machines/store/samples.ts';
import { cloudOptions } from '../src/options.ts';
import { sweepsOf } from '../src/retention/start.ts';
import { testLog } from './database.ts';
import { failure } from './failure.ts';
import { testServer } from './server.ts';
import { trainingServer } from './training-server.ts';

const minute = 60_000;
const day = 24 * 60 * minute;
const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
type Batch = MessageInitShape<typeof SampleBatchSchema>;

/** Samples of whole minutes whose disk share counts them. */
const batchOf = (spoolId: string, first: number, count: number, startMs: number): Batch => ({
  spoolId,
  firstSequence: BigInt(first),
  start: BigInt(Math.floor(startMs / 1000) + (first - 1) * 60),
  samples: Array.from({ length: count }, (_, n) => ({ seconds: n * 60, diskPermille: (first + n) % 1_000 })),
});

type Server = Awaited<ReturnType<typeof testServer>>;
async function machine(on: Server, name: string) {
  const { machineId, partId, part } = await on.machine(name);
  const agent = await on.client(AgentDeviceService, part);
  const fleet = await on.client(FleetService);
  return {
    machineId,
    partId,
    fleet,
    send: (samples: Batch, also: object = {}) => agent.deviceAgentConfig({ id: partId, hostInfo, samples, ...also }),
    async shown(of: { fromMs?: number; untilMs?: number; most?: number } = {}) {
      const { samples, interval } = await fleet.getMachineSamples({
        partId,
        ...(of.fromMs !== undefined && { from: timestampFromMs(of.fromMs) }),
        ...(of.untilMs !== undefined && { until: timestampFromMs(of.untilMs) }),
        most: of.most ?? 0,
      });
      return { samples, interval: interval && Number(interval.seconds) };
    },
  };
}

const nonsense: readonly (readonly [string, Batch])[] = [
  ['without a spool', { ...batchOf('', 1, 1, 0) }],
  ['with a long name', { ...batchOf('x'.repeat(101), 1, 1, 0) }],
  ['with NUL', { ...batchOf('x\0', 1, 1, 0) }],
  ['without a sequence', { ...batchOf('a', 1, 1, 0), firstSequence: 0n }],
  ['with a huge sequence', { ...batchOf('a', 1, 1, 0), firstSequence: 2n ** 63n }],
  ['of the year 300000', { ...batchOf('a', 1, 1, 0), start: 9_404_000_000_000n }],
  ['without samples', { ...batchOf('a', 1, 0, 0) }],
  ['of too many', batchOf('a', 1, 1_441, 0)],
];

/** They share one server. */
const stories: readonly (readonly [string, (on: Server, name: string) => Promise<void>])[] = [
  [
    'samples are answered as they were sent; one that comes again is stored once, and what is not reported is absent',
    async (on, name) => {
      const { send, shown } = await machine(on, name);
      const start = systemClock.wall() - 2 * 60 * minute;
      await send(batchOf('a', 1, 5, start));
      await send(batchOf('a', 1, 8, start));
      await send(batchOf('a', 1, 8, start));
      await send(batchOf('b', 1, 1, start + 9 * minute), { report: {} });
      const { samples, interval } = await shown();
      assert.equal(interval, undefined);
      assert.deepEqual(
        samples.map(({ diskPercent }) => Math.round((diskPercent ?? NaN) * 10)),
        [1, 2, 3, 4, 5, 6, 7, 8, 1],
      );
      assert.deepEqual(
        samples.map(({ time }) => (timestampMs(time!) - timestampMs(samples[0]!.time!)) / minute),
        [0, 1, 2, 3, 4, 5, 6, 7, 9],
      );
      assert.ok(samples.every((one) => one.processorPercent === undefined && one.receivedBytesPerSecond === undefined));
    },
  ],
  [
    'many machines at once, and one machine twice at once: each sample is stored once',
    async (on, name) => {
      const start = systemClock.wall() - 60 * minute;
      const machines = await Promise.all(Array.from({ length: 5 }, (_, n) => machine(on, `${name} ${n}`)));
      await Promise.all(
        machines.flatMap(({ send }) => [send(batchOf('a', 1, 10, start)), send(batchOf('a', 1, 12, start))]),
      );
      for (const { shown } of machines) assert.equal((await shown()).samples.length, 12);
    },
  ],
  [
    'a week is answered in averages, and a span without samples with none',
    async (on, name) => {
      const { send, shown, partId } = await machine(on, name);
      const now = Math.floor(systemClock.wall() / minute) * minute;
      const start = now - 7 * day;
      for (let first = 1; first < 7 * 1_440; first += 1_440) {
        await sql`update part_sample_state set day = current_date - 1 where part_id = ${partId}`.execute(on.db);
        await send(batchOf('a', first, 1_440, start));
      }
      const week = await shown({ fromMs: start, untilMs: now });
      assert.equal(week.interval, 600);
      assert.equal(week.samples.length, 1_008);
      assert.equal(week.samples[0]?.diskPercent?.toFixed(2), '0.55', 'the average of 1 to 10 in a thousand');
      const small = await shown({ fromMs: start, untilMs: now, most: 7 });
      assert.deepEqual([small.interval, small.samples.length], [86_400, 7]);
      assert.deepEqual((await shown({ fromMs: start - 3 * day, untilMs: start - 2 * day })).samples, []);
    },
  ],
  [
    'spans and numbers out of range are refused with the limit',
    async (on, name) => {
      const { shown } = await machine(on, name);
      const now = systemClock.wall();
      for (const wrong of [
        { most: 1_441 },
        { fromMs: now, untilMs: now - 1 },
        { fromMs: now - 32 * day, untilMs: now },
      ])
        assert.equal(await failure(shown(wrong)), 'InvalidArgument INVALID_ARGUMENT');
    },
  ],
  [
    'a batch that cannot be right is ignored, and the report beside it is stored',
    async (on, name) => {
      const { send, fleet, machineId, partId } = await machine(on, name);
      for (const [what, batch] of nonsense) {
        await send(batch, { report: { hostname: what } });
        assert.equal((await fleet.getMachine({ id: machineId })).machine?.report?.hostname, what);
      }
      const { rows } = await sql<{
        n: number;
      }>`select count(*) as n from part_sample where part_id = ${partId}`.execute(on.db);
      assert.equal(rows[0]?.n, 0);
    },
  ],
  [
    'a machine that sends without end is cut off for the day',
    async (on, name) => {
      const { send, partId } = await machine(on, name);
      for (let first = 1; first < 10_000; first += 1_000) await send(batchOf('a', first, 1_000, systemClock.wall()));
      const { rows } = await sql<{
        count: number;
      }>`select day_count as count from part_sample_state where part_id = ${partId}`.execute(on.db);
      assert.equal(rows[0]?.count, mostSamplesPerDay);
    },
  ],
];
test('samples', async (t) => {
  await using on = await testServer();
  for (const [name, story] of stories)
    await t.test(name, () => story(on, `machine ${stories.findIndex(([one]) => one === name)}`));
});

test('samples are kept for seven days after the one on which they came; those of a deleted machine go at once', async () => {
  await using server = await trainingServer();
  const { db, blobs, clock, own } = server;
  const now = Date.parse('2026-06-15T12:00:00Z');
  const sweep = async (wall: number): Promise<number> => {
    const sweeps = sweepsOf({ db, blobs, clock: { ...clock, wall: () => wall }, log: testLog }, cloudOptions([], {}));
    let removed = 0;
    const found = sweeps.find(({ name }) => name === 'days of samples') ?? assert.fail();
    for await (const count of found.steps(wall)) removed += count;
    return removed;
  };
  const stored = async (): Promise<number> =>
    (await sql<{ n: number }>`select count(*)::int as n from part_sample`.execute(db)).rows[0]?.n ?? -1;
  assert.equal(await sweep(now), 0);
  assert.deepEqual(await daysOf(db, 'part_sample'), ['2026-06-15', '2026-06-16'], 'tomorrow is ready');
  for (const one of ['2026-06-15', '2026-06-16'])
    await sql`insert into part_sample (part_id, day, spool, first_sequence, last_sequence, first_time, last_time, batch)
      values (${own.partId}, ${one}, 1, 1, 1, now(), now(), '')`.execute(db);
  assert.deepEqual([await sweep(now + 7 * day), await stored()], [0, 2]);
  assert.deepEqual([await sweep(Date.parse('2026-06-23')), await stored()], [1, 1], 'the 15th as a whole');
  await sql`delete from part where id = ${own.partId}`.execute(db);
  assert.equal(await stored(), 0);
});

test('samples are read from the days since their span, and stored where a sweep dropped the day', async () => {
  await using on = await testServer();
  const { send, shown, partId } = await machine(on, 'm');
  const now = systemClock.wall();
  await send(batchOf('a', 1, 5, now - 60 * minute));
  for (const one of await daysOf(on.db, 'part_sample')) await dropDay(on.db, 'part_sample', one);
  assert.deepEqual((await shown()).samples, []);
  await send(batchOf('a', 6, 5, now - 60 * minute));
  assert.equal((await shown()).samples.length, 5);
  const early = dayOf(now - 5 * day);
  await createDays(on.db, 'part_sample', [early]);
  await sql`insert into part_sample (part_id, day, spool, first_sequence, last_sequence, first_time, last_time, batch)
    values (${partId}, ${early}, 1, 1, 1, now(), now(), '')`.execute(on.db);
  const read = (from: number) => readSamples(on.db, partId, { from, until: systemClock.wall() + minute });
  assert.equal((await read(now - day)).length, 1, 'nothing that came days before the span is of it');
  assert.equal((await read(now - 5 * day)).length, 2);
});

for (const [what, span, most, expected] of [
  ['an hour', 60 * minute, 1_440, undefined],
  ['a day', day, 1_440, undefined],
  ['a week', 7 * day, 1_440, 10 * minute],
  ['a week in a hundred', 7 * day, 100, 120 * minute],
  ['a month in one', 31 * day, 1, 31 * day],
] as const)
  test(`averages: ${what}`, () => assert.equal(intervalOf({ from: 0, until: span }, most), expected));

test('averages leave out what is not known, and the newest samples are answered if there are too many', () => {
  const at = (time: number, values: object) => ({ time, sample: { ...values } as never });
  const samples = [
    at(0, { temperatureTenths: 100 }),
    at(minute, {}),
    at(90_000, { temperatureTenths: 200, timeEstimated: true }),
    at(3 * minute, { temperatureTenths: 0 }),
  ];
  const span = { from: 0, until: 5 * minute };
  const averages = answeredSamples(samples, span, { interval: 2 * minute, most: 9 });
  assert.deepEqual(
    averages.map(({ temperatureCelsius, timeEstimated }) => [temperatureCelsius, timeEstimated]),
    [
      [15, true],
      [0, false],
    ],
  );
  const single = answeredSamples(samples, span, { interval: undefined, most: 2 });
  assert.deepEqual(
    single.map(({ time }) => Number(time?.seconds)),
    [90, 180],
  );
});
