import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldPairs } from './fields.ts';
import { boundedFields, cutText, logLimits } from './limits.ts';

const { messageBytes, fieldsBytes } = logLimits;

test('a text is kept up to the limit in bytes, then cut between two characters, and only once', () => {
  const table: readonly [what: string, text: string, isKept: boolean][] = [
    ['as long as the limit', 'x'.repeat(messageBytes), true],
    ['one more', 'x'.repeat(messageBytes + 1), false],
    ['characters of two bytes', 'ü'.repeat(messageBytes / 2), true],
    ['one byte more', `x${'ü'.repeat(messageBytes / 2)}`, false],
    ['characters of two units', '🦄'.repeat(messageBytes / 4), true],
    ['and one more', `x${'🦄'.repeat(messageBytes / 4)}`, false],
  ];
  for (const [what, text, isKept] of table) {
    const kept = cutText(text);
    assert.equal(kept === text, isKept, what);
    assert.ok(Buffer.byteLength(kept) <= messageBytes, what);
    assert.ok(kept.isWellFormed(), what);
    assert.equal(cutText(kept), kept, what);
    if (!isKept) assert.match(kept, new RegExp(`… \\(cut: ${text.length} characters\\)$`), what);
  }
});

test('fields are kept up to the limit, else their number and size', () => {
  const fields = [{ a: 'x'.repeat(fieldsBytes - '[{"a":""}]'.length) }];
  assert.equal(boundedFields(fields), fields);
  assert.deepEqual(boundedFields([{ a: 'x'.repeat(fieldsBytes) }, { b: 1 }]), [
    { left_out: `${fieldsBytes + 18} characters in 2 fields` },
  ]);
});

test('an empty text is empty and not 0, an error keeps its text, and a boolean is one', () => {
  const zap = (Key: string, Type: number, more: object) => ({
    Key,
    Type,
    Integer: 0,
    String: '',
    Interface: null,
    ...more,
  });
  assert.deepEqual(
    fieldPairs([
      zap('actual', 15, {}),
      zap('err', 15, { String: 'connection refused', Interface: {} }),
      zap('count', 11, {}),
      zap('isOn', 4, { Integer: 1 }),
      zap('isOff', 4, {}),
      zap('all', 23, { Interface: [1] }),
      { Key: 'untyped', String: '', Integer: 0 },
      { Key: 'number', Integer: 0 },
    ]),
    [
      ['actual', ''],
      ['err', 'connection refused'],
      ['count', 0],
      ['isOn', true],
      ['isOff', false],
      ['all', [1]],
      ['untyped', ''],
      ['number', 0],
    ],
  );
});

test('fields as pairs, in both forms that programs send', () => {
  assert.deepEqual(
    fieldPairs([{ Key: 'err', String: 'gone' }, { n: 4 }, { n: 5 }, { Key: 'i', Integer: 2, String: '' }]),
    [
      ['err', 'gone'],
      ['n', 4],
      ['n', 5],
      ['i', 2],
    ],
  );
});
