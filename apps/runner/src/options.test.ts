import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { trainerMalloc } from '@platform/contract/job/job';
import { Usage } from '@platform/kit/node';
import { attemptFlags, attemptLine } from './engine-options.ts';
import { engineOffer } from './executor/start-dispatcher.ts';
import { readAttemptOptions, readOptions } from './options.ts';
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
  const spaced = { ...env, PLATFORM_API_KEY_ID: 'id\r', PLATFORM_API_KEY: ' hidden\n' };
  const read = readOptions([], spaced);
  assert.deepEqual([read.apiKeyId, read.apiKey.reveal()], ['id', 'hidden'], 'white space of a file');
});

test('what is missing is named with its remedy', () => {
  const cases: [Record<string, string>, RegExp][] = [
    [{}, /--url http:\/\/127\.0\.0\.1:8080 or PLATFORM_URL/],
    [{ ...env, PLATFORM_URL: 'nowhere' }, /nowhere cannot be used: it must begin with https:/],
    [{ ...env, PLATFORM_URL: 'http://a/machines' }, /it must not have a path.*: give http:\/\/a\.$/],
    [{ PLATFORM_URL: 'http://a' }, /PLATFORM_API_KEY_ID and PLATFORM_API_KEY/],
  ];
  for (const [given, message] of cases) {
    assert.throws(
      () => readOptions([], given),
      (error) => error instanceof Usage && error.exitCode === 2 && message.test(error.message),
    );
  }
});

test('one token is both parts of the key', () => {
  const { PLATFORM_URL } = env;
  const options = readOptions([], { PLATFORM_URL, PLATFORM_RUNNER_TOKEN: ' key-id:a:b\r\n' });
  assert.deepEqual([options.apiKeyId, options.apiKey.reveal()], ['key-id', 'a:b']);
  assert.ok(!JSON.stringify(options).includes('a:b'));
  for (const token of ['key-id', ':key', 'id: key', 'id:']) {
    assert.throws(
      () => readOptions(['--runner-token', token], env),
      (error) => error instanceof Usage && /<key id>:<key>/.test(error.message) && !error.message.includes('id: key'),
    );
  }
});

test('an engine: what is missing is named, what is given reaches the attempt', () => {
  const wrong: [string[], RegExp][] = [
    [['--executor', 'kubernetes'], /--kubernetes-image/],
    [['--executor', 'pbs'], /local, slurm, kubernetes/],
    [['--executor', 'slurm', '--attempt-url', 'nowhere'], /--attempt-url nowhere/],
    [['--executor', 'slurm', '--script-python', '/usr/bin/python3'], /py:3\.11=/],
  ];
  for (const [argv, message] of wrong) {
    assert.throws(
      () => readOptions(argv, env),
      (error) => error instanceof Usage && message.test(error.message),
    );
  }
  const flags = [
    '--script-python',
    "py:3.11=/opt/it's/python",
    '--allow-script-network',
    '--attempt-folder',
    '/data dir',
  ];
  const given = readOptions(['--executor', 'slurm', '--attempt-command', 'platform-runner', ...flags], env);
  const { engine, scripts } = given;
  assert.equal(engine.attemptUrl, 'http://127.0.0.1:1');
  const line = attemptLine(engine, attemptFlags(engine, given));
  assert.deepEqual(attemptFlags(engine, { ...given, trainerSandbox: false })[0], '--no-trainer-sandbox');
  const quiet = readOptions(['--trainer-nice', '0', '--script-nice', '19', '--script-python', 'a:1=/x'], env);
  assert.deepEqual(
    attemptFlags(engine, quiet).filter((flag) => flag.includes('nice')),
    ['--trainer-nice=0', '--script-nice=19'],
  );
  assert.equal(
    line,
    "platform-runner attempt --order - '--folder=/data dir' '--script-python=py:3.11=/opt/it'\\''s/python' --script-cpus=2 --script-processes=512 --allow-script-network",
  );
  // The attempt parses the words that the shell produces.
  const printed = spawnSync('bash', ['-c', `printf '%s\\n' ${line}`], { encoding: 'utf8' })
    .stdout.trim()
    .split('\n');
  const attempt = readAttemptOptions(printed.slice(2), {});
  assert.deepEqual([attempt.order, attempt.folder, attempt.scripts.network], ['-', '/data dir', true]);
  assert.deepEqual(attempt.scripts.pythons, scripts.pythons);
});

test('scripts on an engine are offered by the names that its operator gives', () => {
  const offerOf = (...argv: string[]) =>
    engineOffer(readOptions(['--executor', 'slurm', '--engine-gpus', '2', ...argv], env), { object_detection: 'x' });
  const none = offerOf();
  assert.deepEqual([none.kinds, none.gpus, none.executor], [['object_detection'], 2, 'slurm']);
  assert.match(none.noScriptsBecause, /--script-python/);
  assert.match(offerOf('--no-scripts').noScriptsBecause, /switched off/);
  const some = offerOf('--script-python', 'py:3.11=/usr/bin/python3,tf:2=/opt/tf/bin/python');
  assert.deepEqual(some.kinds, ['object_detection', 'custom']);
  assert.deepEqual(
    some.containers.map(({ key, uri, framework }) => [key, uri, framework]),
    [
      ['py:3.11', 'slurm:/usr/bin/python3', 'python'],
      ['tf:2', 'slurm:/opt/tf/bin/python', 'tensorflow'],
    ],
  );
  assert.ok((some.containers[0]?.endOfLife ?? 0) > Date.UTC(2027, 0));
});

test('a trainer sees nothing secret of the runner, and reports to the runner only', () => {
  const passed = trainerEnv({ ...env, PATH: '/bin', AWS_SECRET: 'x' });
  assert.deepEqual(passed, { PATH: '/bin', ...trainerMalloc, ORT_DISABLE_TELEMETRY: '1' });
});
