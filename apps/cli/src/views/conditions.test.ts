import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ConditionSchema } from '@platform/contract/gen/platform/conditions/v1/conditions_pb';
import { conditionRow } from './conditions.ts';

const now = Date.parse('2026-03-10T12:00:00Z');
const hour = 3_600_000;
const whatOf = (of: MessageInitShape<typeof ConditionSchema>): string | undefined =>
  conditionRow(create(ConditionSchema, { code: 'DISK_FULL', message: 'No space.', ...of }), now)[3];

test('a line says when its condition was reported, if the machine does not say it now', () => {
  const before = timestampFromMs(now - hour);
  assert.equal(whatOf({}), 'DISK_FULL: No space.');
  assert.equal(whatOf({ measuredOn: before }), 'DISK_FULL: No space. (as of 2026-03-10T11:00:00.000Z)');
  assert.equal(whatOf({ measuredOn: before, endedOn: before }), 'DISK_FULL: No space.');
  const mute = { until: before, reason: 'known' };
  assert.match(whatOf({ measuredOn: before, mute }) ?? '', /\(as of [^)]+\) \(muted until [^)]+: known\)$/);
});
