// Runs the linux/arm64 programs, cross-compiled on this machine, under emulation. This measures no speed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment } from '@platform/kit/node';

const root = path.resolve(import.meta.dirname, '..');

function built(name: string): { file: string; version: string } {
  const args = [path.join(root, 'tools', 'release.ts'), name, '--platform', 'linux/arm64'];
  const done = spawnSync(process.execPath, args, { env: plainEnvironment(), encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout) as { file: string; version: string };
}

/** Emulates a Cortex-A53, the processor of a Raspberry Pi 3. */
const run = (file: string, ...args: string[]) =>
  spawnSync('qemu-aarch64-static', ['-cpu', 'cortex-a53', '-L', '/usr/aarch64-linux-gnu', file, ...args], {
    encoding: 'utf8',
    env: {},
  });

for (const name of ['platform-agent', 'platform-server']) {
  test(`${name} for linux/arm64 prints its version`, () => {
    const { file, version } = built(name);
    const result = run(file, '--version');
    assert.equal(result.status, 0, result.stderr);
    assert.deepEqual(JSON.parse(result.stdout), { version, binary_name: name });
  });
}

test('platform-agent for linux/arm64 reads its command line and reports what is wrong with it', () => {
  const { file } = built('platform-agent');
  const result = run(file, 'run', '--rot', '/tmp');
  assert.equal(result.status, 2, result.stderr);
  assert.match(result.stderr, /--rot/);
});
