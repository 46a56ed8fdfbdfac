import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { test } from 'node:test';
import { plainEnvironment } from '@platform/kit/node';

const program = `
import { readdirSync, readlinkSync } from 'node:fs';
import { closeInherited } from ${JSON.stringify(new URL('inherited-files.ts', import.meta.url).href)};
const open = () => readdirSync('/proc/self/fd').filter((fd) => fd > 2).flatMap((fd) => {
  try { return [readlinkSync('/proc/self/fd/' + fd)]; } catch { return []; }
}).filter((target) => target.startsWith('/') && !target.startsWith('/dev/') && !target.startsWith('/proc/'));
const before = open();
closeInherited();
console.log(JSON.stringify({ before, after: open() }));
`;

test('a folder that whoever started the program had left open is closed; the program works on', () => {
  const folder = openSync('/usr', 'r');
  try {
    const stdio = ['ignore', 'pipe', 'inherit', ...Array.from({ length: 20 }, () => folder)] as const;
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', program];
    const done = spawnSync(process.execPath, args, { env: plainEnvironment(), stdio: [...stdio], encoding: 'utf8' });
    assert.equal(done.status, 0);
    const { before, after } = JSON.parse(done.stdout) as Record<'before' | 'after', string[]>;
    assert.deepEqual([before.length, new Set(before), after], [20, new Set(['/usr']), []]);
  } finally {
    closeSync(folder);
  }
});
