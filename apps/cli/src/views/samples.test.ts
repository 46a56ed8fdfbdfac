import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { MachineSampleSchema } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { sampleJson, sampleText } from './samples.ts';

const now = Date.UTC(2027, 0, 1, 12);
const time = timestampFromMs(now - 120_000);

test('samples: not reported', () => {
  assert.deepEqual([sampleText(undefined, now), sampleJson(undefined)], ['', null]);
});

test('samples: zero is a value, and what is missing is left out of the text and null in JSON', () => {
  const sample = create(MachineSampleSchema, {
    time,
    processorPercent: 12.34,
    temperatureCelsius: 0,
    sentBytesPerSecond: 1500.4,
  });
  assert.match(sampleText(sample, now), /^processor 12\.3 %, 0\.0 °C, sent 1\.5 .?B\/s; 2 min ago$/);
  const json = sampleJson(sample);
  assert.deepEqual([json?.['temperature_celsius'], json?.['memory_percent']], [0, null]);
  assert.equal(json?.['time'], '2027-01-01T11:58:00.000Z');
});

test('samples: a time that is not known is not shown as one', () => {
  const sample = create(MachineSampleSchema, { time, diskPercent: 5, timeEstimated: true });
  assert.equal(sampleText(sample, now), 'disk 5.0 %; at a time that its clock did not know');
});
