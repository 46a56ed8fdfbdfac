import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commitProblems } from './commits.ts';

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
