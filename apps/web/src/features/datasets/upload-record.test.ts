import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRecord, recordText, uploadKey } from './upload-record.ts';

const file = { path: 'cup/1.jpg', size: 1_000, lastModified: 5, labels: 'cup' };

test('a record comes back as it was', () => {
  const record = { total: 10_000, done: new Set([uploadKey(file), 'b']) };
  assert.deepEqual(readRecord(recordText(record)), record);
});

for (const text of [null, '', '{', '[]', 'null', '{"version":2,"total":1,"done":[]}', '{"version":1,"total":1}'])
  test(`no record: ${text}`, () => assert.equal(readRecord(text), undefined));

test('another file, version of it or label has another key', () => {
  const others = [{ path: 'cup/2.jpg' }, { size: 1_001 }, { lastModified: 6 }, { labels: 'cup split:test' }];
  const keys = [file, ...others.map((other) => ({ ...file, ...other }))].map(uploadKey);
  assert.equal(new Set(keys).size, keys.length);
});

test('the keys of 10,000 files differ', () => {
  const keys = Array.from({ length: 10_000 }, (_, n) => uploadKey({ ...file, path: `cup/${n}.jpg` }));
  assert.equal(new Set(keys).size, keys.length);
});
