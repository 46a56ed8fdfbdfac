import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatBytes, formatDuration } from '@platform/kit';

const sizes: [bytes: number | bigint, text: string][] = [
  [0, '0 B'],
  [1n, '1 B'],
  [999, '999 B'],
  [1000, '1.0 kB'],
  [1049, '1.0 kB'],
  [1050, '1.1 kB'],
  [99_949, '99.9 kB'],
  [99_950, '100 kB'],
  [999_499, '999 kB'],
  [999_500, '1.0 MB'],
  [8_900_000n, '8.9 MB'],
  [150_000_000_000, '150 GB'],
  [5e12, '5.0 TB'],
  [12_345e12, '12345 TB'],
];
for (const [bytes, text] of sizes) test(`${bytes} bytes: ${text}`, () => assert.equal(formatBytes(bytes), text));

const durations: [seconds: number, text: string][] = [
  [-5, '0 s'],
  [0.4, '0 s'],
  [59.4, '59 s'],
  [59.5, '1 min'],
  [3599, '59 min'],
  [3600, '1 h'],
  [172_799, '47 h'],
  [172_800, '2 d'],
  [1e7, '115 d'],
];
for (const [seconds, text] of durations)
  test(`${seconds} seconds: ${text}`, () => assert.equal(formatDuration(seconds), text));
