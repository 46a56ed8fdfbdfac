import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withTimeLeft } from '@platform/contract/machine/restart-wait';

const reason = 'it waits for the window Sat 22:00 Europe/Berlin';
const why = '1.0.0 is used. It waits for the window Sat 22:00 Europe/Berlin.';
const hour = 3_600_000;

const cases: [name: string, text: string, untilMs: number | undefined, shown: string][] = [
  ['in a sentence', why, 3 * hour, '1.0.0 is used. It waits for the window Sat 22:00 Europe/Berlin (in 180 min).'],
  ['alone', reason, hour - 59_000, `${reason} (in 60 min)`],
  ['the time is over', why, -1, why],
  ['no time is known', why, undefined, why],
  ['another text', '1.0.0 is used.', hour, '1.0.0 is used.'],
];
for (const [name, text, untilMs, shown] of cases)
  test(`time left: ${name}`, () =>
    assert.equal(
      withTimeLeft(text, { reason, untilMs }, 0, (ms) => `${ms / 60_000} min`),
      shown,
    ));
