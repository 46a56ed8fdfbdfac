import assert from 'node:assert/strict';
import { test } from 'node:test';
import { repeatedLinesCondition, repeatedQuietMs } from './repeated-lines.ts';

test('a condition for 24 hours after the last line under the number of another one', () => {
  const last = Date.parse('2026-03-01T00:00:00Z');
  const none = { repeatedLines: 0, repeatedLinesOn: null, repeatedSamples: 0, repeatedSamplesOn: null };
  const at = (now: number) => repeatedLinesCondition({ ...none, repeatedLines: 2, repeatedLinesOn: last }, now);
  const [condition] = at(last + repeatedQuietMs - 1);
  assert.equal(condition?.code, 'SPOOL_REPEATED');
  assert.match(
    condition?.message ?? '',
    /^2 log lines arrived with sequence numbers .* the last at 2026-03-01T00:00:00\.000Z\./,
  );
  assert.match(condition?.remedy ?? '', /give it its own.*clears 24 hours after/);
  assert.deepEqual(at(last + repeatedQuietMs), []);
  const samples = { ...none, repeatedSamples: 1, repeatedSamplesOn: last };
  assert.match(repeatedLinesCondition(samples, last)[0]?.message ?? '', /^1 sample arrived with sequence numbers /);
  assert.deepEqual(repeatedLinesCondition(none, last), []);
});
