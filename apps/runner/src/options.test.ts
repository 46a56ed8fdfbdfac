import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Usage } from '@platform/kit/node';
import { readOptions } from './options.ts';
import { trainerEnv } from './trainer/environment.ts';

const env = { PLATFORM_URL: 'http://127.0.0.1:1/', PLATFORM_API_KEY_ID: 'id', PLATFORM_API_KEY: 'hidden' };

test('address and key come from the environment, flags win, the key never shows', () => {
  const options = readOptions(['--folder', '/tmp/x', '--grace-seconds=2', '--cache-mib', '16'], env);
  assert.deepEqual(
    [options.url, options.apiKeyId, options.apiKey.reveal(), options.folder, options.graceMs, options.cacheBytes],
    ['http://127.0.0.1:1', 'id', 'hidden', '/tmp/x', 2000, 16 * 2 ** 20],
  );
  assert.ok(!JSON.stringify(options).includes('hidden'));
  assert.equal(readOptions(['--url', 'http://other:2'], env).url, 'http://other:2');
});

test('what is missing is named with its remedy', () => {
  const cases: [Record<string, string>, RegExp][] = [
    [{}, /--url http:\/\/127\.0\.0\.1:8080 or PLATFORM_URL/],
    [{ ...env, PLATFORM_URL: 'nowhere' }, /--url http/],
    [{ PLATFORM_URL: 'http://a' }, /PLATFORM_API_KEY_ID and PLATFORM_API_KEY/],
  ];
  for (const [given, message] of cases) {
    assert.throws(
      () => readOptions([], given),
      (error) => error instanceof Usage && error.exitCode === 2 && message.test(error.message),
    );
  }
});

test('a trainer sees nothing secret of the runner', () => {
  const { MALLOC_ARENA_MAX: _, ...passed } = trainerEnv({ ...env, PATH: '/bin', AWS_SECRET: 'x' });
  assert.deepEqual(passed, { PATH: '/bin' });
});
