// What a test does with each block of a page on operation, and that it knows this of all blocks.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { blocksOf, hasOutput } from '../src/page-blocks.ts';
import { checkout } from '../src/up-process.ts';

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\`\n`;

test('blocks: run with its output, file, example, exit code; anything else is unclear', () => {
  const page = [
    fence('sh', 'uptime'),
    fence('text', 'up … days'),
    `<!-- file: /etc/some.yml -->\n${fence('yaml', 'a: 1')}`,
    `<!-- example: your own host -->\n\n${fence('sh', 'ssh you')}`,
    fence('text', 'Welcome'),
    `<!-- exit: 3 -->\n${fence('sh', 'exit 3')}`,
    `1. First\n\n   ${fence('sh', '   ls').replaceAll('\n```', '\n   ```')}`,
    fence('nginx', 'listen 80;'),
  ].join('\n');
  const found = blocksOf('a.md', page).map(({ use, text, line }) => ({ use, text, line }));
  assert.deepEqual(
    found.map(({ use }) => use),
    [
      { kind: 'run', exitCode: 0, isBackground: false, output: 'up … days\n' },
      { kind: 'output' },
      { kind: 'file', path: '/etc/some.yml' },
      { kind: 'example', why: 'your own host' },
      { kind: 'example', why: 'your own host' },
      { kind: 'run', exitCode: 3, isBackground: false, output: '' },
      { kind: 'run', exitCode: 0, isBackground: false, output: '' },
      { kind: 'unclear' },
    ],
  );
  assert.deepEqual([found[0]?.line, found[6]?.text], [1, 'ls\n']);
});

for (const [output, expected, isSo] of [
  ['a\nb 12 c\nd\n', 'a\nb … c\n', true],
  ['a\nb 12 c\nd\n', 'b … c\n…\na\n', false],
  ['key (x) [y]\n', 'key (x) [y]', true],
  ['', 'a', false],
] as const)
  test(`output ${JSON.stringify(output)} ${isSo ? 'has' : 'lacks'} ${JSON.stringify(expected)}`, () =>
    assert.equal(hasOutput(output, expected), isSo));

const folder = path.join(checkout, 'docs', 'operations');
for (const page of readdirSync(folder).filter((name) => name.endsWith('.md')))
  test(`each block of docs/operations/${page} is run, written, or marked as an example`, () => {
    const unclear = blocksOf(page, readFileSync(path.join(folder, page), 'utf8')).filter(
      ({ use }) => use.kind === 'unclear',
    );
    assert.deepEqual(
      unclear.map(({ line, language }) => `line ${line}: ${language}`),
      [],
      'see e2e/src/page-blocks.ts',
    );
  });
