import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ago, createOutput, isoTime, listText, printable, tableText } from './output.ts';
import { cut, displayWidth } from './terminal-text.ts';

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

const jobs = [
  ['parts', 'completed', 'accuracy 91.5 %', '0b5ea1de-9c0c-4ab0-b8cc-a6c1d5a9d0f1'],
  ['a model with a name that goes on and on', 'in progress', '', '1b5ea1de-9c0c-4ab0-b8cc-a6c1d5a9d0f1'],
];
const header = ['model', 'status', 'score', 'id'];

test('a table wider than the terminal shortens the widest cells, never an ID', () => {
  const lines = tableText(header, jobs, 80).split('\n');
  for (const line of lines) assert.ok(displayWidth(line) <= 80, line);
  assert.match(lines[2] ?? '', /^a model .*…  in prog/);
  assert.ok(lines.slice(1).every((line) => /[0-9a-f-]{36}$/.test(line)));
});

test('on a terminal that is too narrow for a table each row is a block', () => {
  assert.equal(
    tableText(header, jobs, 44),
    [
      'MODEL   parts',
      'STATUS  completed',
      'SCORE   accuracy 91.5 %',
      'ID      0b5ea1de-9c0c-4ab0-b8cc-a6c1d5a9d0f1',
      '',
      'MODEL   a model with a name that goes on an…',
      'STATUS  in progress',
      'ID      1b5ea1de-9c0c-4ab0-b8cc-a6c1d5a9d0f1',
    ].join('\n'),
  );
});

test('wide and combining letters keep the columns straight', () => {
  const lines = tableText(
    ['name', 'n'],
    [
      ['模型', '1'],
      ['e\u0301te\u0301', '2'],
      ['🤖', '3'],
    ],
  ).split('\n');
  assert.deepEqual(lines, ['NAME  N', '模型  1', 'e\u0301te\u0301   2', '🤖    3']);
  assert.equal(displayWidth('模型'), 4);
  assert.equal(cut('模型模型', 6), '模型…');
});

test('names and values below each other, without those that are empty', () => {
  assert.equal(
    listText([
      ['model', 'a'],
      ['nothing', ''],
      ['why', 'line 1\nline \u001b[31m2'],
    ]),
    ['model  a', 'why    line 1', '       line \ufffd[31m2'].join('\n'),
  );
});

const hostile: readonly [string, string, string][] = [
  ['escape sequences', 'a\x1b[2Jb\nc\u009bd', 'a\ufffd[2Jb\ufffdc\ufffdd'],
  ['a carriage return', 'x\r\nFORGED', 'x\ufffd\ufffdFORGED'],
  ['text turned around', 'gpj.\u202Eexe\u2066', 'gpj.\ufffdexe\ufffd'],
  ['line separators', 'a\u2028b\u2029', 'a\ufffdb\ufffd'],
  ['invisible characters', 'a\u200bb\ufeffc\u2060', 'a\ufffdb\ufffdc\ufffd'],
  ['half a character', 'a\ud800', 'a\ufffd'],
  ['hidden tags', `a${String.fromCodePoint(0xe0041)}`, 'a\ufffd'],
];
for (const [name, from, to] of hostile)
  test(`a name can not draw on the terminal: ${name}`, () => {
    assert.equal(printable(from), to);
    assert.ok(tableText(['name'], [[from]]).endsWith(`\n${to}`));
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

test('with --json stdout holds JSON alone, and notes go elsewhere', () => {
  let out = '';
  let beside = '';
  const output = createOutput(true, { write: (t: string) => (out += t) }, { write: (t: string) => (beside += t) });
  output.text('for users');
  output.table(['a'], [['b']]);
  output.json({ n: 3n });
  output.note('more');
  assert.equal(out, '{"n":3}\n');
  assert.equal(beside, 'more\n');
});

test('a sentence and a warning break between words at a terminal, and stay one line elsewhere', () => {
  const written = { stdout: '', stderr: '' };
  const of = (name: keyof typeof written, more: object) => ({
    write: (text: string) => void (written[name] += text),
    ...more,
  });
  const table: [more: object, stdout: string, stderr: string][] = [
    [{}, 'one two three four\n', 'Warning: five \ufffd six seven\n'],
    [{ isTTY: true, columns: 14 }, 'one two three\nfour\n', 'Warning: five\n\ufffd six seven\n'],
  ];
  for (const [more, stdout, stderr] of table) {
    Object.assign(written, { stdout: '', stderr: '' });
    const output = createOutput(false, of('stdout', more), of('stderr', more));
    output.sentence('one two three four');
    output.warn('five \u202e six seven');
    assert.deepEqual(written, { stdout, stderr });
  }
});
