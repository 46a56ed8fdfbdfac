import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Box } from './manifest.ts';
import { mergedBoxes } from './merged-boxes.ts';

const box = (label: string, xMin: number, xMax: number, confidence: number | null = null): Box => ({
  id: `${label} ${xMin}`,
  label,
  xMin,
  yMin: 0.2,
  xMax,
  yMax: 0.6,
  confidence,
});

const rows: [name: string, existing: Box[], sent: Box[], added: number, confirmed: string[]][] = [
  ['the first boxes', [], [box('cup', 0.1, 0.5), box('cup', 0.6, 0.9)], 2, []],
  ['the same again', [box('cup', 0.1, 0.5)], [box('cup', 0.1, 0.5)], 0, []],
  ['moved by half a pixel of 200', [box('cup', 0.1, 0.5)], [box('cup', 0.1025, 0.4975)], 0, []],
  ['another label there', [box('cup', 0.1, 0.5)], [box('mug', 0.1, 0.5)], 1, []],
  ['the same label beside it', [box('cup', 0.1, 0.5)], [box('cup', 0.2, 0.6)], 1, []],
  ['the same label elsewhere', [box('cup', 0.1, 0.3)], [box('cup', 0.5, 0.7)], 1, []],
  ['twice in one upload', [], [box('cup', 0.1, 0.5), box('cup', 0.1, 0.5)], 1, []],
  ['a prediction that is confirmed', [box('cup', 0.1, 0.5, 0.7)], [box('cup', 0.11, 0.5)], 0, ['cup 0.1']],
  ['a prediction again', [box('cup', 0.1, 0.5, 0.7)], [box('cup', 0.1, 0.5, 0.8)], 0, []],
  ['a prediction where a user drew', [box('cup', 0.1, 0.5)], [box('cup', 0.1, 0.5, 0.8)], 0, []],
];
for (const [name, existing, sent, added, confirmed] of rows) {
  test(`boxes of the same bytes: ${name}`, () => {
    const merged = mergedBoxes(existing, sent);
    assert.equal(merged.added.length, added);
    assert.deepEqual(
      merged.confirmed.map(({ id }) => id),
      confirmed,
    );
  });
}
