import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { MachineSampleSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { readStorySearch } from './story-search.ts';
import { chartSummary, newestPlace, sampleLines, valuesText, type SampleKey } from './sample-lines.ts';

const minute = 60_000;
const at = (time: number, values: MessageInitShape<typeof MachineSampleSchema>) =>
  create(MachineSampleSchema, { time: timestampFromMs(time), ...values });

test('all charts share their times, and a time without samples is a gap in each', () => {
  const { times, charts, newest } = sampleLines(
    [
      at(0, { processorPercent: 50, temperatureCelsius: 41 }),
      at(minute, { processorPercent: 100 }),
      at(5 * minute, { processorPercent: 0, temperatureCelsius: 48 }),
    ],
    undefined,
  );
  assert.deepEqual(times, [0, 60, 180, 300]);
  assert.equal(newest, 5 * minute);
  const lines = Object.fromEntries(charts.map(({ key, lines: all }) => [key, all.map(({ values }) => values)]));
  const none = [null, null, null, null];
  assert.deepEqual(lines, {
    processor: [[50, 100, null, 0]],
    memory: [none],
    disk: [none],
    temperature: [[41, null, null, 48]],
    network: [none, none],
  });
});

test('averages are connected over their interval', () => {
  const day = 24 * 60 * minute;
  assert.deepEqual(sampleLines([at(0, {}), at(2 * day, {})], day).times, [0, (2 * day) / 1000]);
});

const scales: [SampleKey, MessageInitShape<typeof MachineSampleSchema>, scale: [number, number], unit: string][] = [
  ['processor', { processorPercent: 3 }, [0, 100], '%'],
  ['temperature', { temperatureCelsius: 44 }, [40, 60], '°C'],
  ['temperature', { temperatureCelsius: -5 }, [-10, 10], '°C'],
  ['temperature', {}, [0, 100], '°C'],
  ['network', {}, [0, 1], 'B/s'],
  ['network', { receivedBytesPerSecond: 700, sentBytesPerSecond: 0 }, [0, 1000], 'B/s'],
  ['network', { receivedBytesPerSecond: 1_200_000, sentBytesPerSecond: 10 }, [0, 2], 'MB/s'],
];
for (const [key, values, scale, unit] of scales)
  test(`the axis of ${key} with ${JSON.stringify(values)}`, () => {
    const chart = sampleLines([at(0, values)], undefined).charts.find((one) => one.key === key);
    assert.deepEqual([chart?.scale, chart?.unit], [scale, unit]);
  });

test('a chart in words', () => {
  const samples = [
    at(0, { receivedBytesPerSecond: 1_000_000, sentBytesPerSecond: 0 }),
    at(minute, { receivedBytesPerSecond: 2_000_000, sentBytesPerSecond: 500_000 }),
  ];
  const [processor, , , , network] = sampleLines(samples, undefined).charts;
  assert.ok(processor && network);
  assert.equal(newestPlace(processor), -1);
  assert.equal(chartSummary(processor, 'the last hour'), 'Processor: nothing was measured in the last hour');
  assert.equal(valuesText(network, 0), 'in 1.0 MB/s, out 0 B/s');
  assert.equal(
    chartSummary(network, 'the last hour'),
    'Network in the last hour: newest in 2.0 MB/s, out 500 kB/s; in from 1.0 MB/s to 2.0 MB/s, out from 0 B/s to 500 kB/s',
  );
});

test('the URL of OVERVIEW has a range that exists, or the usual one', () => {
  assert.deepEqual(readStorySearch({ range: '7d' }), { range: '7d' });
  for (const range of ['24h', '8d', 'toString', 7, undefined]) assert.deepEqual(readStorySearch({ range }), {});
});
