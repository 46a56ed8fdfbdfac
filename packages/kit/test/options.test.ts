import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { options, Usage, type OptionTable } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';

const table = {
  root: { type: 'string', default: '/opt/platform', description: 'Folder of the agent.' },
  maxAge: { type: 'number', min: 1, max: 100, default: 10, description: 'Days to keep.' },
  logFormat: { type: 'string', choices: ['text', 'json'], default: 'text', description: 'Form of a line.' },
  token: { type: 'secret', description: 'Access token.' },
  passphrase: { type: 'secret', isVerbatim: true, description: 'Words of the user.' },
  debug: { type: 'boolean', description: 'More lines.' },
  config: { type: 'string', description: 'Options file.' },
} satisfies OptionTable;

const read = (argv: string[], env: Record<string, string> = {}, file?: unknown) =>
  options(table, { program: 'agent', argv, env, envPrefix: 'PLATFORM_AGENT', file });

const ages: [name: string, argv: string[], env: Record<string, string>, file: unknown, maxAge: number][] = [
  ['default', [], {}, undefined, 10],
  ['file before default', [], {}, { max_age: 20 }, 20],
  ['environment before file', [], { PLATFORM_AGENT_MAX_AGE: '30' }, { max_age: 20 }, 30],
  ['flag before environment', ['--max-age', '40'], { PLATFORM_AGENT_MAX_AGE: '30' }, { max_age: 20 }, 40],
  ['flag with =', ['--max-age=40'], {}, undefined, 40],
  ['the last flag counts', ['--max-age=40', '--max-age=41'], {}, undefined, 41],
  ['an empty variable is none', [], { PLATFORM_AGENT_MAX_AGE: '' }, undefined, 10],
  ['the lowest', ['--max-age', '1'], {}, undefined, 1],
  ['the highest', ['--max-age', '100'], {}, undefined, 100],
];
for (const [name, argv, env, file, maxAge] of ages) {
  test(`precedence: ${name}`, () => assert.equal(read(argv, env, file).maxAge, maxAge));
}

const booleans: [argv: string[], env: Record<string, string>, debug: boolean][] = [
  [[], {}, false],
  [['--debug'], {}, true],
  [['--debug=false'], {}, false],
  [['--no-debug'], { PLATFORM_AGENT_DEBUG: '1' }, false],
  [[], { PLATFORM_AGENT_DEBUG: 'true' }, true],
];
for (const [argv, env, debug] of booleans) {
  test(`boolean: ${[...argv, ...Object.values(env)].join(' ') || 'absent'}`, () =>
    assert.equal(read(argv, env).debug, debug));
}

const wrong: [argv: string[], env: Record<string, string>, file: unknown, message: string][] = [
  [['--roots', '/x'], {}, {}, 'Unknown option --roots. See agent --help.'],
  [['--no-root'], {}, {}, 'Unknown option --no-root. See agent --help.'],
  [['--root'], {}, {}, 'Option --root needs a value: --root <string>.'],
  [['here'], {}, {}, 'Unexpected word "here". See agent --help.'],
  [['--max-age', 'old'], {}, {}, 'option --max-age must be a number from 1 to 100, not "old".'],
  [['--max-age', '0'], {}, {}, 'option --max-age must be a number from 1 to 100, not "0".'],
  [
    [],
    { PLATFORM_AGENT_MAX_AGE: '101' },
    {},
    'environment variable PLATFORM_AGENT_MAX_AGE must be a number from 1 to 100, not "101".',
  ],
  [[], {}, { max_age: true }, 'max_age in the options file must be a number from 1 to 100, not true.'],
  [['--log-format', 'xml'], {}, {}, 'option --log-format must be one of text, json, not "xml".'],
  [['--debug=maybe'], {}, {}, 'option --debug must be true or false, not "maybe".'],
  [['--no-debug=1'], {}, {}, 'Option --no-debug takes no value.'],
  [[], {}, { token: 5 }, 'token in the options file must be a string.'],
  [
    [],
    {},
    { maxAge: 5 },
    'the options file has an unknown key maxAge. Known: root, max_age, log_format, token, passphrase, debug, config.',
  ],
  [[], {}, [], 'the options file must hold one JSON object, such as {"debug": true}.'],
];
for (const [argv, env, file, message] of wrong) {
  test(`refused: ${message}`, () =>
    assert.throws(() => read(argv, env, file), { name: 'Usage', exitCode: 2, message }));
}

test('a secret is given as a Secret', () => {
  assert.equal(read([], { PLATFORM_AGENT_TOKEN: 's3' }).token?.reveal(), 's3');
  assert.equal(read([], { PLATFORM_AGENT_TOKEN: ' s3\r\n' }).token?.reveal(), 's3', 'from a file with one line');
  assert.equal(read([], { PLATFORM_AGENT_PASSPHRASE: ' a b ' }).passphrase?.reveal(), ' a b ', 'as the user chose it');
  assert.equal(read([]).token, undefined);
});

test('help shows every option with its default and variable', () => {
  assert.throws(
    () => read(['--help']),
    (error: unknown) => {
      assert.ok(error instanceof Usage);
      assert.equal(error.exitCode, 0);
      assert.equal(
        error.message,
        `Usage: agent [options]

  --root <string>           Folder of the agent. [default: /opt/platform] [env: PLATFORM_AGENT_ROOT]
  --max-age <number>        Days to keep. [default: 10] [env: PLATFORM_AGENT_MAX_AGE]
  --log-format <text|json>  Form of a line. [default: text] [env: PLATFORM_AGENT_LOG_FORMAT]
  --token <secret>          Access token. [env: PLATFORM_AGENT_TOKEN]
  --passphrase <secret>     Words of the user. [env: PLATFORM_AGENT_PASSPHRASE]
  --debug                   More lines. [env: PLATFORM_AGENT_DEBUG]
  --config <string>         Options file. [env: PLATFORM_AGENT_CONFIG]
  --help                    Show this text.`,
      );
      return true;
    },
  );
});

test('arguments other than options go to the rest, as does everything after --', () => {
  const withRest = { words: { type: 'rest', description: 'Words.' }, debug: table.debug } satisfies OptionTable;
  const got = options(withRest, { argv: ['a', '--debug', 'b', '--', '--c'], env: {} });
  assert.deepEqual(got, { words: ['a', 'b', '--c'], debug: true });
});

const from = (file: string) => options(table, { argv: ['--config', file], env: {}, fileFrom: 'config' });
test('the options file named by an option', async () => {
  await using folder = await tempFolder();
  writeFileSync(folder.file('good.json'), '{"max_age": 33}');
  assert.equal(from(folder.file('good.json')).maxAge, 33);
  writeFileSync(folder.file('bad.json'), '{"max_age": 333}');
  assert.throws(
    () => from(folder.file('bad.json')),
    /^Usage: max_age in .*bad\.json must be a number from 1 to 100, not 333\.$/,
  );
  writeFileSync(folder.file('torn.json'), '{"max_age"');
  assert.throws(() => from(folder.file('torn.json')), /torn\.json, given by --config, is not valid JSON/);
  writeFileSync(folder.file('latin1.json'), Buffer.from('{"name": "Käse"}', 'latin1'));
  assert.throws(
    () => from(folder.file('latin1.json')),
    /latin1\.json, given by --config, cannot be read: it is not valid UTF-8: byte 0xE4 at offset 11/,
  );
  writeFileSync(folder.file('utf16.json'), Buffer.from('\uFEFF{"max_age": 44}', 'utf16le'));
  assert.equal(from(folder.file('utf16.json')).maxAge, 44);
  assert.throws(() => from(folder.file('none.json')), /none\.json, given by --config, cannot be read: ENOENT/);
});

test('an option may have a letter, an older name and a variable of its own, or none', () => {
  const named = {
    root: { type: 'string', short: 'r', alias: 'platformDir', description: 'Folder.', default: '/opt' },
    url: { type: 'string', env: 'PLATFORM_URL', description: 'Server.' },
    version: { type: 'boolean', short: 'v', env: '', description: 'Version.' },
  } satisfies OptionTable;
  const given = (argv: string[], env: Record<string, string> = {}) =>
    options(named, { program: 'agent', argv, env, envPrefix: 'PLATFORM_AGENT' });
  assert.equal(given(['-r', '/a']).root, '/a');
  assert.equal(given(['--platform-dir=/b']).root, '/b');
  assert.equal(given([], { PLATFORM_URL: 'http://x', PLATFORM_AGENT_URL: 'http://y' }).url, 'http://x');
  assert.deepEqual(
    [given(['-v']).version, given([], { PLATFORM_AGENT_VERSION: '1.2.3', '': 'x' }).version],
    [true, false],
  );
  assert.throws(
    () => given(['--help']),
    (error: unknown) =>
      error instanceof Usage &&
      error.message.includes('-r, --root <string>  Folder. [default: /opt] [env: PLATFORM_AGENT_ROOT]') &&
      error.message.includes('-v, --version        Version.\n'),
  );
});
