import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exitCodes } from '../src/exit-codes.ts';
import { platform } from './platform.ts';

const releaseCommands =
  'list, show, publish, patches, promote, revoke, sign, keys, rotate-root, sign-root, submit-root';
const table: [line: string, what: RegExp][] = [
  ['release --json', new RegExp(`^A command is missing after "platform release"; there are: ${releaseCommands}\\.$`)],
  ['--json release', /^A command is missing after "platform release"/],
  ['machine --json', /^A command is missing after "platform machine"; there are: create, list, show, .*pin, unpin, /],
  ['release keys --json', /^A command is missing after "platform release keys"; there are: init, make, list\.$/],
  ['--json', /^A command is missing after "platform"; there are: train, dataset, .*up, help, completion\.$/],
  ['release lits --json', new RegExp(`^unknown command 'lits' .*list.*; there are: ${releaseCommands}\\.$`)],
  ['nosuch --json', /^unknown command 'nosuch'.*; there are: train, dataset, /],
  ['release --jsn --json', /^unknown option '--jsn'/],
  ['release --json list', /^No server or no API key is named/],
];

for (const [line, what] of table)
  test(`a usage error, reported to programs: platform ${line}`, () => {
    const { code, stdout, stderr } = platform(...line.split(' '));
    assert.deepEqual([code, stdout], [exitCodes.usage, ''], stderr);
    const { error } = JSON.parse(stderr) as { error: Record<string, string> };
    assert.equal(error['code'], 'USAGE');
    assert.match(error['what'] ?? '', what);
  });

test('a missing command, reported to users: the commands with what they do', () => {
  const { code, stdout, stderr } = platform('release');
  assert.deepEqual([code, stdout], [exitCodes.usage, '']);
  assert.match(stderr, /promote \[options\] <name> <version> <channel> +point a channel at a published version/);
});

const invalid: [line: string[], what: RegExp][] = [
  [['train', 'list', '--status', 'bogus'], /^INVALID_ARGUMENT: --status .*bogus.*one of all, /],
  [['train', 'list', '--limit', '0'], /^INVALID_ARGUMENT: --limit /],
  [['audit', '--since', 'yesterday'], /^INVALID_ARGUMENT: --since /],
  [
    ['--url', '127.0.0.1:8080', 'machine', 'list'],
    /^--url is not the URL of a server: 127\.0\.0\.1:8080: it must begin with https:\/\/ or http:\/\/, for example/,
  ],
  [
    ['--url', 'http://127.0.0.1:1/machines', 'machine', 'list'],
    /: it must not have a path, a query or a fragment: give http:\/\/127\.0\.0\.1:1\.\n$/,
  ],
  [
    ['--url', 'http://me:hunter2@127.0.0.1:1', 'machine', 'list'],
    /http:\/\/\*\*\*@127\.0\.0\.1:1: it must not contain a user name/,
  ],
];
for (const [line, what] of invalid)
  test(`an invalid command line ends with 2: platform ${line.join(' ')}`, () => {
    const { code, stdout, stderr } = platform('--api-key-id', 'a', '--api-key', 'b', ...line);
    assert.deepEqual([code, stdout], [exitCodes.usage, ''], stderr);
    assert.match(stderr, what);
  });
