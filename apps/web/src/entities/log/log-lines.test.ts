import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { parseLevel, toLogLine } from './log-lines.ts';

test('levels of other loggers', () => {
  const table: [name: string, level: string][] = [
    ['INFO', 'info'],
    ['Warning', 'warn'],
    ['fatal', 'error'],
    ['DPanic', 'error'],
    ['trace', 'debug'],
    ['?', 'info'],
  ];
  for (const [name, level] of table) assert.equal(parseLevel(name), level);
});

test('fields of Go programs and of ours', () => {
  const entry = create(LogEntrySchema, {
    fields: [{ Key: 'err', String: 'gone' }, { revision: 4 }, { Key: 'n', Integer: 2, String: '' }],
  });
  assert.equal(toLogLine(entry).fields, ' err=gone revision=4 n=2');
});
