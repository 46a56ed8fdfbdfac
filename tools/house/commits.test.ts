import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment } from '../../packages/kit/src/node/environment.ts';
import { checkHistory, commitProblems } from './commits.ts';

const body = '\n\nIt was slow.\n';
const rows: [message: string, problems: RegExp[]][] = [
  [`agent: renew the systemd unit after a trial${body}`, []],
  [`agent, cloud: report a full disk${body}`, []],
  [`agent/versions: keep three versions${body}`, []],
  ['agent: renew the systemd unit', [/body is missing/]],
  ['agent: renew the systemd unit\nIt was slow.', [/blank line/]],
  [`Renew the systemd unit${body}`, [/not `area: /]],
  [`agent: Renew the unit${body}`, [/lower-case letter/]],
  [`agent: renewed.${body}`, [/full stop/]],
  [`agent: adds a field${body}`, [/imperative/]],
  [`agent: words${body}`, [/imperative/]],
  [`agent: the unit is renewed${body}`, [/imperative/]],
  [`agent: keep ${'x'.repeat(100)}${body}`, [/112 characters; the limit is 100/]],
];
for (const [message, problems] of rows) {
  test(JSON.stringify(message.slice(0, 60)), () => {
    const found = commitProblems(message);
    assert.equal(found.length, problems.length, found.join('\n'));
    for (const [i, problem] of problems.entries()) assert.match(found[i] ?? '', problem);
  });
}

const identity = { NAME: 'a', EMAIL: 'a@example.com' };
const env = plainEnvironment(
  Object.fromEntries(
    ['AUTHOR', 'COMMITTER'].flatMap((role) =>
      Object.entries(identity).map(([key, value]) => [`GIT_${role}_${key}`, value]),
    ),
  ),
);

test('the commits after the base are checked, without merges; a history without the base fails', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'commits-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const git = (at: string, ...args: string[]): string =>
    execFileSync('git', args, { cwd: path.join(folder, at), env, encoding: 'utf8', stdio: 'pipe' }).trim();
  const commit = (at: string, ...message: string[]): string => {
    git(at, 'commit', '-q', '--allow-empty', ...message.flatMap((text) => ['-m', text]));
    return git(at, 'rev-parse', 'HEAD');
  };
  git('', 'init', '-q', '-b', 'main', 'origin');
  commit('origin', 'Bad, but before the base');
  const base = commit('origin', 'agent: begin', 'It is the base.');
  git('origin', 'checkout', '-q', '-b', 'side');
  commit('origin', 'agent: report a full disk', 'It was slow.');
  git('origin', 'checkout', '-q', 'main');
  git('origin', 'merge', '-q', '--no-ff', '-m', 'Merge side', 'side');
  const origin = path.join(folder, 'origin');
  assert.deepEqual(checkHistory(origin, base), {
    lines: [`1 commits after ${base.slice(0, 12)}, 0 problems`],
    exitCode: 0,
  });

  commit('origin', 'Bad, and after the base');
  const bad = checkHistory(origin, base);
  assert.equal(bad.exitCode, 1);
  assert.match(bad.lines.join('\n'), /^\w+ Bad, and after the base\n {2}the subject is not .*\n2 commits after/);

  git('', 'clone', '-q', '--depth', '1', `file://${origin}`, 'shallow');
  assert.deepEqual(checkHistory(path.join(folder, 'shallow'), base), {
    lines: [`commit messages are not checked: this shallow clone does not reach ${base}`],
    exitCode: 0,
  });
  // A shallow clone that reaches the base is checked.
  git('', 'clone', '-q', '--depth', '3', `file://${origin}`, 'deeper');
  assert.equal(checkHistory(path.join(folder, 'deeper'), base).exitCode, 1);
  // A shallow clone with a whole history of its own cannot excuse itself.
  git('shallow', 'checkout', '-q', '--orphan', 'other');
  commit('shallow', 'agent: begin', 'It is another history.');
  for (const unknown of [base, 'f'.repeat(40)]) {
    const other = checkHistory(path.join(folder, 'shallow'), unknown);
    assert.equal(other.exitCode, 2);
    assert.match(other.lines.join('\n'), /is not in the history of HEAD\. Name a commit/);
  }
});
