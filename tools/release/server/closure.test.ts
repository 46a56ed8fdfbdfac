import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { closureOf, type Lock, type Target } from './closure.ts';

const x64: Target = { os: 'linux', cpu: 'x64', libc: 'glibc' };
const arm64: Target = { ...x64, cpu: 'arm64' };

const lock: Lock = {
  'apps/a': { dependencies: { '@p/kit': '*', tool: '1' } },
  'node_modules/@p/kit': { link: true, resolved: 'packages/kit' },
  'packages/kit': { dependencies: { deep: '2' }, optionalDependencies: { none: '1' } },
  'packages/kit/node_modules/deep': { version: '2.0.0' },
  'node_modules/deep': { version: '1.0.0' },
  'node_modules/tool': {
    version: '1.0.0',
    dependencies: { deep: '1' },
    optionalDependencies: { 'tool-x64': '1', 'tool-arm64': '1', 'tool-musl': '1' },
    peerDependencies: { extra: '*' },
    peerDependenciesMeta: { extra: { optional: true } },
  },
  'node_modules/extra': { version: '9.0.0' },
  'node_modules/tool-x64': { os: ['linux'], cpu: ['x64'], libc: ['glibc'] },
  'node_modules/tool-arm64': { os: ['linux'], cpu: ['arm64'] },
  'node_modules/tool-musl': { os: ['linux'], cpu: ['x64'], libc: ['musl'] },
};

test('closure: nearest version of a package, workspaces behind links, packages of the platform alone', () => {
  assert.deepEqual(closureOf(lock, ['apps/a'], x64), {
    workspaces: ['apps/a', 'packages/kit'],
    packages: ['node_modules/deep', 'node_modules/tool', 'node_modules/tool-x64', 'packages/kit/node_modules/deep'],
  });
  assert.ok(closureOf(lock, ['apps/a'], arm64).packages.includes('node_modules/tool-arm64'));
});

test('closure: a missing dependency is an error that names both', () => {
  assert.throws(() => closureOf({ 'apps/a': { dependencies: { gone: '1' } } }, ['apps/a'], x64), /apps\/a needs gone/);
});

test('closure: the programs of the server need no development package on either platform', () => {
  const file = path.resolve(import.meta.dirname, '../../../package-lock.json');
  const real = (JSON.parse(readFileSync(file, 'utf8')) as { packages: Lock }).packages;
  for (const target of [x64, arm64]) {
    const { packages } = closureOf(real, ['apps/cloud', 'apps/cli', 'apps/runner', 'trainers/detection'], target);
    const names = packages.map((key) => key.split('node_modules/').at(-1));
    assert.ok(names.includes(`@img/sharp-linux-${target.cpu}`));
    for (const none of ['typescript', 'vite', 'react', '@sparticuz/chromium', 'playwright-core'])
      assert.ok(!names.includes(none), none);
  }
});
