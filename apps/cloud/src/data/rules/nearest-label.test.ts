import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearestLabel } from './nearest-label.ts';

const known = ['cup', 'tea pot', 'screwdriver', 'Größe'];
const rows: [asked: string, expected: string | undefined][] = [
  ['Cup', 'cup'],
  ['cupp', 'cup'],
  ['cpu', 'cup'],
  ['pen', undefined],
  ['tea-pot', 'tea pot'],
  ['teapots', 'tea pot'],
  ['screwdirver', 'screwdriver'],
  ['screw', undefined],
  ['größe', 'Größe'],
  ['', undefined],
];
for (const [asked, expected] of rows)
  test(`asked for "${asked}": meant ${expected}`, () => assert.equal(nearestLabel(asked, known), expected));
