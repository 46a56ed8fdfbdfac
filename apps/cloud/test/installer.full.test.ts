import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

const folder = path.resolve(import.meta.dirname, '../install');
const scripts = globSync('*.sh', { cwd: folder }).toSorted();

/** Common /bin/sh shells: Debian's and Ubuntu's, Alpine's and OpenWrt's, Red Hat's. */
const shells = [['/bin/dash'], ['/bin/busybox', 'sh'], ['/bin/bash', '--posix']] as const;

const run = (command: string, args: readonly string[], input?: string) =>
  spawnSync(command, args, { encoding: 'utf8', ...(input !== undefined && { input }) });

test('the scripts that machines get pass shellcheck', () => {
  assert.deepEqual(scripts, ['install.sh']);
  const { status, stdout } = run('shellcheck', ['-s', 'sh', ...scripts.map((name) => path.join(folder, name))]);
  assert.deepEqual({ status, stdout }, { status: 0, stdout: '' });
});

for (const [command, ...args] of shells) {
  test(`${[command, ...args].join(' ')} understands them and answers --help`, () => {
    const template = readFileSync(path.join(folder, 'install.sh'), 'utf8');
    const script = template.replaceAll('@PLATFORM_URL@', 'https://machines.example');
    const { status, stdout, stderr } = run(command, [...args, '-s', '--', '--help'], script);
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    assert.match(stdout, /^Exit codes: 0 done/m);
  });
}
