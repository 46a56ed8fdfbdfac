import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { MachineSampleSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { sampleCharts } from './samples.ts';

const minute = 60_000;
const at = (time: number, values: MessageInitShape<typeof MachineSampleSchema>) =>
  create(MachineSampleSchema, { time: timestampFromMs(time), ...values });
const span = { from: 0, until: 10 * minute, intervalMs: undefined };

test('a chart for each value that is reported, and a gap where the machine was off', () => {
  const charts = sampleCharts(
    [
      at(0, { processorPercent: 50, temperatureCelsius: 20 }),
      at(minute, { processorPercent: 100, temperatureCelsius: 40 }),
      at(5 * minute, { processorPercent: 0 }),
    ],
    span,
  );
  assert.deepEqual(charts, [
    {
      title: 'Processor',
      top: '100.0 %',
      lines: [
        {
          name: '',
          last: '0.0 %',
          runs: [
            [
              { x: 0, y: 0.5 },
              { x: 0.1, y: 1 },
            ],
            [{ x: 0.5, y: 0 }],
          ],
        },
      ],
    },
    {
      title: 'Temperature',
      top: '40.0 °C',
      lines: [
        {
          name: '',
          last: '40.0 °C',
          runs: [
            [
              { x: 0, y: 0.5 },
              { x: 0.1, y: 1 },
            ],
          ],
        },
      ],
    },
  ]);
});

test('averages are connected over their interval; both directions of the network share one scale', () => {
  const [chart] = sampleCharts(
    [
      at(0, { receivedBytesPerSecond: 2_000, sentBytesPerSecond: 0 }),
      at(5 * minute, { receivedBytesPerSecond: 1_000, sentBytesPerSecond: 500 }),
    ],
    { ...span, intervalMs: 5 * minute },
  );
  assert.equal(chart?.title, 'Network');
  assert.deepEqual(
    chart?.lines.map(({ name, runs }) => [name, runs.map((run) => run.map(({ y }) => y))]),
    [
      ['received', [[1, 0.5]]],
      ['sent', [[0, 0.25]]],
    ],
  );
});

test('frost and nothing at all stay within the drawing', () => {
  const charts = sampleCharts([at(0, { temperatureCelsius: -5, receivedBytesPerSecond: 0 })], span);
  assert.deepEqual(
    charts.map(({ lines }) => lines[0]?.runs[0]?.[0]?.y),
    [0, 0],
  );
  assert.deepEqual(sampleCharts([], span), []);
});
