import assert from 'node:assert/strict';
import { test } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { fieldPairs } from '@platform/contract/logs/fields';
import { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { downloadForms } from './log-download.ts';
import { toLogLine } from '../../entities/log/log-lines.ts';

test('a file has one line for each line, whatever stands in it', () => {
  const entry = create(LogEntrySchema, {
    time: timestampFromMs(Date.UTC(2026, 10, 28, 14, 2, 5, 118)),
    level: 'warn',
    loggerName: 'front',
    message: 'a\n\u001b[31mb\u001b[0m\u202e',
    fields: [{ try: 1 }],
  });
  const written = downloadForms.map(({ line }) => line(toLogLine(entry), fieldPairs(entry.fields)));
  assert.deepEqual(written, [
    '2026-11-28T14:02:05.118Z WARN  front a\\nb\\u202e try=1\n',
    '{"time":"2026-11-28T14:02:05.118Z","level":"warn","logger":"front","message":"a\\n\\u001b[31mb\\u001b[0m\u202e","fields":{"try":1},"dropped_lines":0}\n',
  ]);
});
