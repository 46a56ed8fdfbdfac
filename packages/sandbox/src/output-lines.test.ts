import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineCap, LineSplitter } from './output-lines.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
function linesOf(...chunks: Uint8Array[]): string[] {
  const splitter = new LineSplitter();
  return [...chunks.flatMap((chunk) => splitter.add(chunk)), ...splitter.end()];
}

const rows: [string, string[], string[]][] = [
  ['lines, and what follows the last one', ['one\ntwo\nthree'], ['one', 'two', 'three']],
  ['a line in two pieces', ['on', 'e\n'], ['one']],
  ['line ends of Windows', ['one\r\ntwo\r\n'], ['one', 'two']],
  ['of a progress bar its last state', ['\r 0%\r 50%', '\r100%\ndone\n'], ['100%', 'done']],
  ['colours and titles of terminals go', ['\u001b[1;31mred\u001b[0m \u001b]0;title\u0007x\n'], ['red x']],
  ['what cannot be shown is marked', ['a\u0000b\u0007c\u202ed\n'], ['a�b�c�d']],
  ['tabs stay', ['a\tb\n'], ['a\tb']],
  ['an empty output has no lines', [], []],
];
for (const [name, chunks, wanted] of rows) {
  test(`lines: ${name}`, () => assert.deepEqual(linesOf(...chunks.map(bytes)), wanted));
}
test('lines: a letter in two pieces stays whole, invalid UTF-8 is marked', () => {
  const letter = bytes('ü');
  assert.deepEqual(linesOf(letter.subarray(0, 1), letter.subarray(1), bytes('\n')), ['ü']);
  assert.deepEqual(linesOf(Buffer.from([0x61, 0xff, 0x62, 0x0a])), ['a�b']);
});
test('lines: one without end is cut and takes no memory', () => {
  const splitter = new LineSplitter();
  for (let i = 0; i < 1000; i++) assert.deepEqual(splitter.add(bytes('x'.repeat(10_000))), []);
  const [line = ''] = splitter.end();
  assert.ok(line.length > 10_000 && line.length < 20_000);
  assert.ok(line.endsWith('…'));
});
test('lines: half of a letter beyond the basic plane does not remain at the cut', () => {
  const [line = ''] = linesOf(bytes('🚂'.repeat(20_000)));
  assert.ok(line.isWellFormed());
});

test('cap: more lines than allowed in a second are dropped, and a line with their number comes before the next one', () => {
  const cap = new LineCap({ linesPerSecond: 2, bytes: 1000 });
  const kept = ['a', 'b', 'c', 'd'].flatMap((line) => cap.take(line, 0));
  assert.deepEqual(kept, ['a', 'b']);
  assert.equal(cap.isFull(999), true);
  cap.skip(bytes('e\nf\n'));
  assert.equal(cap.isFull(1000), false);
  assert.deepEqual(cap.take('g', 1000), ['4 lines were dropped here: more than 2 in one second.', 'g']);
  assert.deepEqual(cap.end(), []);
});
test('cap: after the last byte allowed nothing is kept, and the end says how much was lost', () => {
  const cap = new LineCap({ linesPerSecond: 100, bytes: 2 * 2 ** 20 });
  const line = 'x'.repeat(2 ** 20 - 1);
  assert.equal([line, line, line].flatMap((one) => cap.take(one, 0)).length, 2);
  assert.equal(cap.isFull(5000), true);
  cap.skip(Buffer.alloc(2 ** 20));
  assert.deepEqual(cap.end(), ['The last 2.0 MiB of the output were dropped: the log of a job has at most 2.0 MiB.']);
});
