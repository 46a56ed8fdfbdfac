// Each decision record is in the index once, with its title and status. Code and documents name only existing records.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { decisionProblems, namedDecisions } from './house/decisions.ts';
import { root, tracked } from './house/tree.ts';

test('the index lists each record once, with its title and status', () => {
  const folder = path.join(root, 'docs/decisions');
  const files = readdirSync(folder).map((name) => [name, readFileSync(path.join(folder, name), 'utf8')] as const);
  assert.deepEqual(decisionProblems(Object.fromEntries(files)), []);
});

test('code and documents name only records that exist', () => {
  const records = new Set(readdirSync(path.join(root, 'docs/decisions')).map((name) => name.slice(0, 4)));
  const wrong = tracked
    .filter((file) => /\.(?:tsx?|mjs|md|proto|sh)$/.test(file) && !file.startsWith('tools/'))
    .flatMap((file) => namedDecisions(readFileSync(path.join(root, file), 'utf8')).map((number) => ({ file, number })))
    .filter(({ number }) => !records.has(number));
  assert.deepEqual(wrong, []);
});

test('the names of records are found in comments and links', () => {
  const text =
    '// Decision 0001.\n * (decisions 0002 and 0003)\n[why](../decisions/0004-four.md), [0005](0005-five.md)';
  assert.deepEqual(namedDecisions(text), ['0001', '0002', '0003', '0004', '0005']);
});

const record = '# 0001: One\n\nStatus: in force\n\n## Context\nIt was slow.\n';
const line = '- [0001: One](0001-one.md): It is fast. (in force)\n';
const rows: [name: string, files: Record<string, string>, problem: RegExp | null][] = [
  ['valid', { '0001-one.md': record, 'README.md': line, 'template.md': '# NNNN: …' }, null],
  ['not listed', { '0001-one.md': record, 'README.md': '' }, /0001-one\.md is missing/],
  ['listed twice', { '0001-one.md': record, 'README.md': line + line }, /0001 is listed twice/],
  [
    'listed, but absent',
    { '0001-one.md': record, 'README.md': `${line}- [0002: Two](2.md): No. (in force)` },
    /no record/,
  ],
  ['another title', { '0001-one.md': record.replace('One', 'Two'), 'README.md': line }, /differs from "Two"/],
  ['another file', { '0001-two.md': record, 'README.md': line }, /differs from "One", 0001-two/],
  ['another status', { '0001-one.md': record, 'README.md': line.replace('in force', 'amended by 0001') }, /differs/],
  ['no status', { '0001-one.md': '# 0001: One\n\nIt was slow.\n', 'README.md': '' }, /does not begin with/],
  ['the number of another file', { '0002-one.md': record, 'README.md': '' }, /does not begin with "# 0002/],
  [
    'an unknown status',
    { '0001-one.md': record.replace('in force', 'old'), 'README.md': line.replace('in force', 'old') },
    /the status is/,
  ],
  [
    'a status by an absent record',
    {
      '0001-one.md': record.replace('in force', 'superseded by 0009'),
      'README.md': line.replace('in force', 'superseded by 0009'),
    },
    /names 0009/,
  ],
  ['one number twice', { '0001-one.md': record, '0001-two.md': record, 'README.md': line }, /has the same number/],
  [
    'a long summary',
    { '0001-one.md': record, 'README.md': line.replace('fast', `fast${' a'.repeat(13)}`) },
    /more than 15 words/,
  ],
  [
    'a heading of its own',
    { '0001-one.md': record.replace('## Context', '## Question'), 'README.md': line },
    /"## Question" is not/,
  ],
];
for (const [name, files, problem] of rows) {
  test(`decisions: ${name}`, () => {
    const problems = decisionProblems(files);
    assert.equal(problems.length, problem === null ? 0 : 1, problems.join('\n'));
    if (problem !== null) assert.match(problems[0] ?? '', problem);
  });
}
