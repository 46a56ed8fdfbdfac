import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { plainEnvironment } from './environment.ts';
import { spawnGroup } from './process-group.ts';

test('a child gets the environment of its parent without settings and keys of ours, and what is named', () => {
  const of = {
    PATH: '/bin',
    HTTPS_PROXY: 'http://proxy',
    EMPTY: '',
    PLATFORM_API_KEY: 'key',
    PLATFORM_DATA_DIR: '/data',
    DATABASE_URL: 'postgres://',
    NODE_TEST_CONTEXT: 'child-v8',
    GONE: undefined,
  };
  assert.deepEqual(plainEnvironment({}, of), { PATH: '/bin', HTTPS_PROXY: 'http://proxy', EMPTY: '' });
  assert.deepEqual(plainEnvironment({ PLATFORM_URL: 'http://a', PATH: undefined, DATABASE_URL: 'x' }, of), {
    HTTPS_PROXY: 'http://proxy',
    EMPTY: '',
    PLATFORM_URL: 'http://a',
    DATABASE_URL: 'x',
  });
});

const skip = process.platform === 'win32';

test('a child inherits no key of another program', { skip }, async () => {
  process.env['PLATFORM_API_KEY'] = 'exported';
  try {
    const group = await spawnGroup({ command: 'env' });
    const output = await text(group.stdout!);
    assert.match(output, /^PATH=/m);
    assert.doesNotMatch(output, /PLATFORM_/);
  } finally {
    delete process.env['PLATFORM_API_KEY'];
  }
});
