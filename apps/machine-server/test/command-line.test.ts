import { machineExit } from '@platform/contract/machine-server/machine-server';
import { plainEnvironment, Usage } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readCommandLine } from '../src/command-line.ts';

test('the command line: short and long forms, environment below them', () => {
  const standard = {
    config: '/etc/platform.json',
    dataFolder: path.resolve('platform-server-data'),
    pollMs: 5000,
    debug: false,
    version: false,
  };
  const rows: [argv: string[], env: Record<string, string>, change: object][] = [
    [[], {}, {}],
    [['-config', '/c', '-data', '/d'], {}, { config: '/c', dataFolder: '/d' }],
    [['--config=/c', '--debug'], { PLATFORM_SERVER_CONFIG: '/e' }, { config: '/c', debug: true }],
    [['-version'], { PLATFORM_SERVER_DATA: '/e' }, { version: true, dataFolder: '/e' }],
    [['-poll-seconds', '0.5'], { PLATFORM_SERVER_DEBUG: 'true' }, { pollMs: 500, debug: true }],
  ];
  for (const [argv, env, change] of rows) assert.deepEqual(readCommandLine(argv, env), { ...standard, ...change });
  for (const argv of [['-x'], ['-config'], ['word'], ['-poll-seconds', '0']])
    assert.throws(() => readCommandLine(argv, {}), Usage);
});

test('what keeps the program from starting: exit code, cause and remedy', async () => {
  await using folder = await tempFolder();
  const credentials = folder.file('c.json');
  await writeFile(credentials, JSON.stringify({ cloud: { app_address: 'http://127.0.0.1:1', id: 'p', secret: 's' } }));
  await writeFile(folder.file('text'), 'hello');
  await writeFile(folder.file('latin1'), Buffer.from('{"cloud": "Käse"}', 'latin1'));
  await mkdir(folder.file('dir'));
  const main = path.join(import.meta.dirname, '..', 'src', 'main.ts');
  const rows: [argv: string[], code: number, message: RegExp][] = [
    [['--what'], machineExit.usage, /Unknown option --what.*--help/],
    [
      ['-config', folder.file('none')],
      machineExit.badCredentials,
      /none can't be read: does not exist\. Put the credentials/,
    ],
    [['-config', folder.file('dir')], machineExit.badCredentials, /EISDIR/],
    [
      ['-config', folder.file('latin1')],
      machineExit.badCredentials,
      /can't be read: it is not valid UTF-8: byte 0xE4 at/,
    ],
    [['-config', folder.file('text')], machineExit.badCredentials, /not a JSON object\. To mend it, copy/],
    [['-config', credentials, '-data', folder.file('text')], machineExit.noDataFolder, /can't be written: .*-data/],
  ];
  for (const [argv, code, message] of rows) {
    const { status, stderr, stdout } = spawnSync(process.execPath, [main, ...argv], {
      env: plainEnvironment(),
      encoding: 'utf8',
    });
    assert.equal(status, code, stderr);
    assert.match(stderr, message);
    assert.equal(stdout, '');
  }
});
