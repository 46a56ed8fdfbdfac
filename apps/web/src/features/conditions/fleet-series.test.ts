import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ConditionHourSchema, FleetSampleSchema } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { beganPerHour, lastDay, onlineOverTime, wholeHours } from './fleet-series.ts';

const now = Date.parse('2026-03-10T12:02:00Z');
const span = lastDay(now);
const at = (minutesAgo: number) => timestampFromMs(now - minutesAgo * 60_000);

test('the line of machines online has a gap where the server did not measure', () => {
  const samples = [60, 55, 20, 15].map((ago) => create(FleetSampleSchema, { time: at(ago), machines: 3, online: 2 }));
  const { times, series } = onlineOverTime(samples, span);
  assert.deepEqual(series[0]?.values, [2, 2, null, 2, 2]);
  assert.deepEqual(
    times,
    times.toSorted((a, b) => a - b),
  );
  const old = create(FleetSampleSchema, { time: at(25 * 60), machines: 3, online: 2 });
  assert.equal(onlineOverTime([old], span).times.length, 0);
});

test('each hour has a value, also one in which nothing began', () => {
  const start = timestampFromMs(Date.parse('2026-03-10T11:00:00Z'));
  const { times, series } = beganPerHour([create(ConditionHourSchema, { start, errors: 2, warnings: 3 })], span);
  assert.equal(times.length, 25);
  assert.deepEqual(
    wholeHours(span),
    { from: times[0], to: (times.at(-1) ?? 0) + 3_600 },
    'the bar of this hour has its whole width',
  );
  const place = times.indexOf(Date.parse('2026-03-10T11:00:00Z') / 1_000);
  assert.deepEqual(
    series.map(({ values }) => values[place]),
    [5, 2],
  );
  assert.equal(series[0]?.own?.[place], 3, 'the legend counts each once');
  assert.equal(
    series[0]?.values.reduce((sum: number, value) => sum + (value ?? 0), 0),
    5,
  );
});
