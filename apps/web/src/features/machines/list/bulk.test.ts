import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { BulkOperationSchema } from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { bulkChange, bulkText, emptyForm, tagsProblem } from './bulk.ts';

test('a form asks for a change once it is complete and right', () => {
  assert.deepEqual(bulkChange('tags', { ...emptyForm, add: 'barn,  site/a', remove: 'old' }), {
    change: { case: 'tags', value: { add: ['barn', 'site/a'], remove: ['old'] } },
  });
  assert.equal(bulkChange('tags', emptyForm), undefined);
  assert.equal(bulkChange('tags', { ...emptyForm, add: 'a?' }), undefined);
  assert.match(tagsProblem('ok a?') ?? '', /^a\?: only letters/);
  assert.equal(bulkChange('pin', emptyForm), undefined);
  assert.deepEqual(bulkChange('pin', { ...emptyForm, version: ' 1.4.0 ' }), {
    change: { case: 'pin', value: { program: 'server', version: '1.4.0' } },
  });
  assert.equal(bulkChange('move', emptyForm), undefined);
  assert.deepEqual(bulkChange('delete', emptyForm), { change: { case: 'delete', value: {} } });
});

test('how an operation stands', () => {
  const at = (counts: object) => bulkText(create(BulkOperationSchema, counts));
  assert.equal(at({ done: 5, waiting: 40, refused: 2 }), '5 done, 2 left out, 40 wait');
  assert.equal(at({ done: 5, failed: 1, waiting: 1, stoppedOn: {} }), '5 done, 1 failed, 1 machine not tried');
});
