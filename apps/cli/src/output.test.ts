import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, createOutput, isoTime, printable, tableText } from './output.ts';

test('a table is aligned, without trailing blanks', () => {
  assert.equal(
    tableText(
      ['name', 'state'],
      [
        ['a', 'online'],
        ['longer name', ''],
      ],
    ),
    ['NAME         STATE', 'a            online', 'longer name'].join('\n'),
  );
});

test('a name can not draw on the terminal', () => {
  assert.equal(printable('a\x1b[2Jb\nc\u009bd'), 'a\ufffd[2Jb\ufffdc\ufffdd');
  assert.ok(!tableText(['name'], [['x\r\nFORGED']]).includes('\r'));
});

const rows: readonly [number, string][] = [
  [0, '0 s ago'],
  [59, '59 s ago'],
  [60, '1 min ago'],
  [3599, '59 min ago'],
  [3600, '1 h ago'],
  [172_799, '47 h ago'],
  [172_800, '2 d ago'],
  [-5, '0 s ago'],
];
for (const [seconds, text] of rows)
  test(`${seconds} s: ${text}`, () =>
    assert.equal(ago({ seconds: 1_000_000n - BigInt(seconds) }, 1_000_000_000), text));

test('times', () => {
  assert.equal(isoTime({ seconds: 1n, nanos: 500_000_000 }), '1970-01-01T00:00:01.500Z');
  assert.equal(isoTime(undefined), '');
});

test('with --json stdout holds JSON alone', () => {
  let out = '';
  const output = createOutput(true, { write: (t: string) => (out += t) });
  output.text('for people');
  output.json({ n: 3n });
  assert.equal(out, '{"n":3}\n');
});
