import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Call, Named, Outside, PickleError, readPickle } from './pickle.ts';

/** Adds the protocol 2 header and the end. */
const pickle = (...parts: (string | number)[]): Buffer =>
  Buffer.concat([
    Buffer.from([0x80, 2]),
    ...parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from([part]))),
    Buffer.from('.'),
  ]);
const word = (text: string): string => `X${String.fromCharCode(text.length)}\0\0\0${text}`;

test('plain values', () => {
  const cases: [string, Buffer, unknown][] = [
    ['nothing', pickle('N'), null],
    ['true and false', pickle('\x88\x89\x86'), [true, false]],
    ['small numbers', pickle('K\xffM\x01\x02J\xff\xff\xff\xff\x87'), [255, 513, -1]],
    ['a large one', pickle('\x8a\x02\x01\x01'), 257n],
    ['text', pickle(word('two')), 'two'],
    ['a list', pickle(']q\0(K\x01K\x02e'), [1, 2]],
    ['a dictionary', pickle('}', word('a'), 'K\x01s(', word('b'), 'K\x02u'), new Map(Object.entries({ a: 1, b: 2 }))],
    ['a value used twice', pickle('K\x07q\x03h\x03\x86'), [7, 7]],
    ['no items', pickle(')'), []],
  ];
  for (const [what, bytes, wanted] of cases) {
    assert.deepEqual(readPickle(bytes), { value: wanted, end: bytes.length }, what);
  }
});

test('names and calls are described, not followed', () => {
  const { value } = readPickle(pickle('cos\nsystem\n(', word('rm -rf /'), 'tR'));
  assert.ok(value instanceof Call && value.target instanceof Named);
  assert.equal(value.target.name, 'os.system');
  assert.deepEqual(value.args, ['rm -rf /']);
  const outside = readPickle(pickle(word('key'), 'Q')).value;
  assert.ok(outside instanceof Outside);
  assert.equal(outside.id, 'key');
});

test('what is not understood is refused', () => {
  const cases: [string, Buffer][] = [
    ['another protocol', Buffer.from([0x80, 4, 0x4e, 0x2e])],
    ['an opcode that makes objects', pickle('cos\nsystem\n)\x81')],
    ['an opcode that imports by number', pickle('\x82\x01')],
    ['an end too early', Buffer.from([0x80, 2, 0x4d, 1])],
    ['a name without an end', pickle('cos\nsystem')],
    ['text longer than the file', pickle('X\xff\xff\xff\x7fabc')],
    ['a value that was never kept', pickle('h\x01')],
    ['an empty stack', pickle('')],
    ['items without a beginning', pickle('K\x01e')],
    ['entries into a number', pickle('K\x01K\x02K\x03s')],
    ['a call without arguments', pickle('cos\nsystem\nK\x01R')],
  ];
  for (const [what, bytes] of cases) assert.throws(() => readPickle(bytes), PickleError, what);
});
