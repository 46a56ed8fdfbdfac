import assert from 'node:assert/strict';
import { appendFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { tailOf } from './tail.ts';

test('lines come once, when they are complete; letters split between two writes stay whole', async () => {
  await using folder = await tempFolder();
  const file = folder.file('log');
  writeFileSync(file, 'one\ntwo');
  const tail = tailOf(file);
  assert.deepEqual(tail.read(), ['one']);
  const letter = Buffer.from('ü');
  appendFileSync(file, Buffer.concat([Buffer.from('!\n'), letter.subarray(0, 1)]));
  assert.deepEqual(tail.read(), ['two!']);
  appendFileSync(file, Buffer.concat([letter.subarray(1), Buffer.from('\nlast')]));
  assert.deepEqual(tail.read(), ['ü']);
  assert.deepEqual(tail.read(), []);
  assert.deepEqual(tail.end(), ['last']);
});

test('a line without end does not grow without limit', async () => {
  await using folder = await tempFolder();
  const file = folder.file('log');
  writeFileSync(file, 'x'.repeat(300_000));
  const tail = tailOf(file);
  assert.deepEqual(tail.read(), []);
  appendFileSync(file, '\nnext\n');
  const [long, next] = tail.end();
  assert.deepEqual([(long ?? '').length <= 65_536, next], [true, 'next']);
});
