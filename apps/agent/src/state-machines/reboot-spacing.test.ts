import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noReboots, parseRecord, spacingMs, withReboot } from './reboot-spacing.ts';

const min = 60_000;
const day = 24 * 60 * min;
const after = (reboots: number) => ({ hasBeenOnline: true, reboots });

test('the spacing doubles up to a day, or the configured time if that is more', () => {
  const hours = [0, 1, 2, 3, 4, 5, 1000].map((reboots) => spacingMs(after(reboots), 60 * min) / (60 * min));
  assert.deepEqual(hours, [1, 2, 4, 8, 16, 24, 24]);
  assert.deepEqual(
    [0, 1, 9].map((reboots) => spacingMs(after(reboots), 3 * day)),
    [3 * day, 3 * day, 3 * day],
  );
  assert.equal(spacingMs(after(3), Infinity), Infinity);
});

test('the count of reboots survives JSON and never overflows', () => {
  let record = after(0);
  for (let turn = 0; turn < 2000; turn++) record = withReboot(record);
  assert.equal(spacingMs(record, 3 * min), day);
  assert.deepEqual(parseRecord(JSON.parse(JSON.stringify(record))), record);
});

test('a record that is not one counts as no reboots', () => {
  for (const value of [null, 3, 'x', [], {}, { hasBeenOnline: true }, { hasBeenOnline: 1, reboots: 1 }])
    assert.deepEqual(parseRecord(value), noReboots);
  for (const reboots of [-1, 1.5, Number.NaN, '3'])
    assert.deepEqual(parseRecord({ hasBeenOnline: true, reboots }), noReboots);
  assert.deepEqual(parseRecord({ hasBeenOnline: true, reboots: 1e9 }), { hasBeenOnline: true, reboots: 30 });
});
