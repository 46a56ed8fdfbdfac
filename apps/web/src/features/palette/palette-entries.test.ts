import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultFilter } from 'cmdk';
import {
  actionEntries,
  bestEntries,
  datasetEntry,
  machineEntry,
  pageEntries,
  readPaletteQuery,
} from './palette-entries.ts';

const barn = { id: 'm1', partId: 'p1', name: 'barn-1' };
const limits = { score: defaultFilter, most: 3 };

test('a verb is read only where a blank follows it', () => {
  assert.deepEqual(readPaletteQuery('Restart barn 1 '), { verb: 'restart', words: 'barn 1' });
  assert.deepEqual(readPaletteQuery('restart '), { verb: 'restart', words: '' });
  assert.deepEqual(readPaletteQuery('restart'), { verb: undefined, words: 'restart' });
  assert.deepEqual(readPaletteQuery(' barn 1'), { verb: undefined, words: 'barn 1' });
});

test('a machine opens, or is restarted after the verb; a dataset is opened, filled, labelled or trained on', () => {
  assert.deepEqual(machineEntry(barn, 'online', undefined).action, { is: 'open', path: '/machines/m1' });
  assert.deepEqual(machineEntry(barn, 'online', 'logs').action, { is: 'open', path: '/machines/m1/logs' });
  assert.deepEqual(machineEntry(barn, 'online', 'restart').action, { is: 'restart', machine: barn });
  const pathOf = (verb?: 'upload' | 'train' | 'label') => datasetEntry({ id: 'd', name: 'cows' }, verb).action;
  assert.deepEqual(pathOf(), { is: 'open', path: '/datasets/d' });
  assert.deepEqual(pathOf('upload'), { is: 'open', path: '/datasets/d?add=true' });
  assert.deepEqual(pathOf('train'), { is: 'open', path: '/training/new?dataset=d' });
});

test('letters in their order find an entry, other words do too, and each group has its best only', () => {
  const all = [...pageEntries, ...actionEntries];
  assert.equal(bestEntries(all, 'adm', limits)[0]?.text, 'Add a machine');
  assert.ok(bestEntries(all, 'backup', limits).some(({ text }) => text === 'Server'));
  assert.deepEqual(bestEntries(all, 'zzzz', limits), []);
  const many = Array.from({ length: 50 }, (_, n) => datasetEntry({ id: String(n), name: `cows ${n}` }, undefined));
  assert.equal(bestEntries(many, 'cows', limits).length, 3);
  assert.equal(bestEntries(many, '', limits).length, 3);
  assert.equal(new Set(all.map(({ key }) => key)).size, all.length);
});
