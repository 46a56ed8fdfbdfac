import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { options } from '@platform/kit/node';
import { runOptions } from './run-options.ts';
import { readLayers } from './layers.ts';

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

const layers = (...argv: string[]) => readLayers(readOptions(argv, {}));
test('layers: the command line sets only what was given; a defaults file that cannot be used is reported and not fatal', async () => {
  await using folder = await tempFolder();
  const defaults = folder.file('defaults.json');
  assert.deepEqual((await layers()).commandLine, { advanced_settings: {} });
  assert.deepEqual((await layers('--debug', '--wait-for-update')).commandLine, {
    advanced_settings: { debug: true, wait_for_update_check: true },
  });
  const bad: readonly [string | Buffer | undefined, RegExp][] = [
    [undefined, /does not exist/],
    ['{', /is not valid JSON/],
    ['', /is not valid JSON/],
    ['[1]', /holds no JSON object/],
    ['"text"', /holds no JSON object/],
    [
      Buffer.from('{"network_configuration": {"manufacturer": "Müller"}}', 'latin1'),
      /defaults\.json cannot be read: it is not valid UTF-8: byte 0xFC at offset 45, in line 1$/,
    ],
  ];
  for (const [text, problem] of bad) {
    if (text !== undefined) await writeFile(defaults, text);
    const read = await layers('--defaults', defaults);
    assert.match(read.problem ?? '', problem);
    assert.equal(read.manufacturer, undefined);
  }
  await writeFile(defaults, Buffer.from('\uFEFF{"network_configuration": {"manufacturer": "Müller"}}', 'utf16le'));
  assert.deepEqual((await layers('--defaults', defaults)).manufacturer, {
    network_configuration: { manufacturer: 'Müller' },
  });
  await writeFile(defaults, '// of the image\n{"network_configuration": {"manufacturer": "acme"},}');
  assert.deepEqual((await layers('--defaults', defaults)).manufacturer, {
    network_configuration: { manufacturer: 'acme' },
  });
});
