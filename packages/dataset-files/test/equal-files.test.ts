import assert from 'node:assert/strict';
import { test } from 'node:test';
import { smallPng } from '@platform/kit/testing';
import { planImport } from '../src/plan.ts';
import { memorySource } from './case-files.ts';

/** Two images of one length whose first difference is far behind the start. */
const long = (end: string): Buffer => Buffer.concat([smallPng('long'), Buffer.alloc(10_000), Buffer.from(end)]);

test('equal files in several splits are held out, whatever their names and folders, and named', async () => {
  const source = memorySource({
    'train/cup/1.png': smallPng('one'),
    'test/cup/other.png': smallPng('one'),
    'train/cup/2.png': smallPng('two'),
    'train/mug/3.png': long('a'),
    'validation/mug/4.png': long('a'),
    'test/mug/5.png': long('b'),
    'train/mug/6.png': smallPng('six'),
    'train/mug/copy of 6.png': smallPng('six'),
    'mug/7.png': smallPng('seven'),
    'test/mug/7.png': smallPng('seven'),
  });
  const { images, ledger } = await planImport(source);
  assert.deepEqual(Object.fromEntries(images.map(({ path, split }) => [path, split])), {
    'train/cup/1.png': 'test',
    'test/cup/other.png': 'test',
    'train/cup/2.png': 'train',
    'train/mug/3.png': 'validation',
    'validation/mug/4.png': 'validation',
    'test/mug/5.png': 'test',
    'train/mug/6.png': 'train',
    'train/mug/copy of 6.png': 'train',
    'mug/7.png': 'test',
    'test/mug/7.png': 'test',
  });
  assert.deepEqual(ledger.warnings, [
    'Equal files in several splits are held out (test/cup/other.png in test, train/cup/1.png in train; train/mug/3.png in train, validation/mug/4.png in validation)',
  ]);
});
