import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { options } from '@platform/kit/node';
import { runOptions } from './commands/run-options.ts';
import { readCredentials, readLayers } from './options.ts';

const readOptions = (argv: string[], env: Record<string, string>) =>
  options(runOptions, { program: 'platform-agent run', argv, env, envPrefix: 'PLATFORM_AGENT' });

test('options: flag before environment before default', () => {
  const given = readOptions(['--root', '/r'], {
    PLATFORM_AGENT_CONFIG: '/c.json',
    PLATFORM_AGENT_ROOT: '/x',
    PLATFORM_AGENT_FAST_START: '1',
  });
  assert.deepEqual(
    [given.root, given.config, given.defaults, given.fastStart, given.debug, given.logFormat],
    ['/r', '/c.json', '/etc/platform-defaults.json', true, false, 'text'],
  );
});

const bad: [content: string | undefined, message: RegExp][] = [
  [
    undefined,
    /^The credentials file .* cannot be read: ENOENT.* Copy the credentials of this machine from the management app/,
  ],
  ['{"cloud"', /cannot be used: it is not a JSON object; copy the credentials/],
  ['{}', /it has no object "cloud"/],
  ['{"cloud": {"id": "x", "secret": "topsecret"}}', /"cloud\.app_address" must be the http\(s\) address/],
  ['{"cloud": {"app_address": "http://h", "id": "x", "api_key": {"id": "k"}}}', /it needs "cloud\.secret" or both/],
];
for (const [content, message] of bad) {
  test(`credentials refused: ${content ?? 'no file'}`, async () => {
    await using folder = await tempFolder();
    const file = folder.file('platform.json');
    if (content !== undefined) await writeFile(file, content);
    await assert.rejects(readCredentials(file), (error: unknown) => {
      assert.ok(error instanceof Error && error.name === 'Usage');
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /topsecret/);
      return true;
    });
  });
}

test('credentials: by part secret and by API key', async () => {
  await using folder = await tempFolder();
  const file = folder.file('platform.json');
  await writeFile(file, '{"cloud": {"app_address": "http://h:1/", "id": "part", "secret": "s"}}');
  assert.deepEqual(await readCredentials(file), {
    appAddress: 'http://h:1',
    partId: 'part',
    entity: 'part',
    type: 'robot-secret',
    payload: 's',
  });
  await writeFile(file, '{"cloud": {"app_address": "http://h", "id": "part", "api_key": {"id": "k", "key": "v"}}}');
  assert.deepEqual(await readCredentials(file), {
    appAddress: 'http://h',
    partId: 'part',
    entity: 'k',
    type: 'api-key',
    payload: 'v',
  });
});

const layers = (...argv: string[]) => readLayers(readOptions(argv, {}));
test('layers: the command line sets only what was given; a named defaults file must be there and be JSON', async () => {
  await using folder = await tempFolder();
  const defaults = folder.file('defaults.json');
  assert.deepEqual((await layers()).commandLine, { advanced_settings: {} });
  assert.deepEqual((await layers('--debug', '--wait-for-update')).commandLine, {
    advanced_settings: { debug: true, wait_for_update_check: true },
  });
  await assert.rejects(layers('--defaults', defaults), /does not exist\. Correct --defaults/);
  await writeFile(defaults, '{');
  await assert.rejects(layers('--defaults', defaults), /The defaults file cannot be used: .* is not valid JSON/);
  await writeFile(defaults, '{"network_configuration": {"manufacturer": "acme"}}');
  assert.deepEqual((await layers('--defaults', defaults)).manufacturer, {
    network_configuration: { manufacturer: 'acme' },
  });
});
