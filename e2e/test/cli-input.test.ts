// What users give the command line: files in many encodings, keys of files, URLs, proxies, pipes.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { plainEnvironment, spawnGroup } from '@platform/kit/node';
import { proxyTo, tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { checkout, runCli } from '../src/up-process.ts';

async function stage() {
  const cloud = await startCloud();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const cli = (...args: string[]) => runCli(env, ...args);
  return { ready, env, cli, [Symbol.asyncDispose]: () => cloud[Symbol.asyncDispose]() };
}

const debug = '{"agent": {"advanced_settings": {"debug": true}}}';
const network = '{"agent":{"additional_networks":[{"type":"wifi","ssid":"Käsehof","psk":"12345678"}]}}';
/** As it is read: its secret stays on the server. */
const shown = network.replace('12345678', '(secret kept by the server)');
const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le');
const encodings: [name: string, bytes: Buffer, saved: string | RegExp][] = [
  ['UTF-8 with a byte order mark', Buffer.from(`\uFEFF${debug}`), debug],
  ['UTF-16, little endian', utf16(debug), debug],
  ['UTF-16, big endian', utf16(network).swap16(), shown],
  ['UTF-8', Buffer.from(network), shown],
  [
    'Latin-1',
    Buffer.from('{"agent":{"network_configuration":{"manufacturer":"Müller"}}}', 'latin1'),
    /^NOT_TEXT: .* is not readable text: it is not valid UTF-8: byte 0xFC at offset 52, in line 1\.\nSave it as UTF-8/,
  ],
  ['Latin-1 in an SSID', Buffer.from(network, 'latin1'), /^NOT_TEXT: .*byte 0xE4 at offset 57, in line 1/],
  ['JSON that ends with NUL', Buffer.from(`${debug}\0`), /^INVALID_CONFIG: /],
];

test('a configuration is saved as it was written, or refused with encoding and offset', async () => {
  await using s = await stage();
  await using folder = await tempFolder();
  assert.equal((await s.cli('machine', 'create', 'press')).code, 0);
  let revision = 0;
  for (const [name, bytes, expected] of encodings) {
    const file = folder.file('config.json');
    await writeFile(file, bytes);
    const { code, stderr } = await s.cli('config', 'set', 'press', file);
    if (typeof expected === 'string') {
      assert.equal(code, 0, `${name}: ${stderr}`);
      assert.equal((await s.cli('config', 'get', 'press')).stdout, `${expected}\n`, name);
      revision++;
    } else {
      assert.equal(code, 1, name);
      assert.match(stderr, expected, name);
    }
  }
  const { stdout } = await s.cli('config', 'history', 'press', '--json');
  assert.equal(
    (JSON.parse(stdout) as { revisions: unknown[] }).revisions.length,
    revision,
    'refused texts save nothing',
  );
});

test('a key, an ID and a URL with white space around them, and a connection file of Windows', async () => {
  await using s = await stage();
  await using folder = await tempFolder();
  const { PLATFORM_URL: url, PLATFORM_API_KEY_ID: id, PLATFORM_API_KEY: key } = s.env;
  for (const [before, after] of [
    ['', '\n'],
    ['', '\r'],
    [' ', '\r\n'],
  ]) {
    const around = {
      PLATFORM_URL: `${url}${after}`,
      PLATFORM_API_KEY_ID: `${id}${after}`,
      PLATFORM_API_KEY: `${before}${key}${after}`,
    };
    assert.equal((await runCli(around, 'machine', 'list')).code, 0, JSON.stringify(after));
  }
  const file = folder.file('connection.json');
  await writeFile(file, utf16(`${JSON.stringify({ url, api_key_id: id, api_key: `${key}\r\n` })}\r\n`));
  assert.equal((await runCli({ PLATFORM_CONNECTION_FILE: file }, 'machine', 'list')).code, 0);
  await writeFile(file, 'url: x');
  const broken = await runCli({ PLATFORM_CONNECTION_FILE: file }, 'machine', 'list');
  assert.deepEqual(
    [broken.code, broken.stderr],
    [2, `${file} must hold one JSON object with url, api_key_id and api_key.\n`],
  );
});

test('the proxy of the environment is used for other hosts, and never for this one', async () => {
  await using s = await stage();
  await using proxy = await proxyTo(Number(new URL(s.env.PLATFORM_URL).port));
  const through = { ...s.env, PLATFORM_URL: 'http://fleet.invalid', HTTP_PROXY: `http://${proxy.url}` };
  const created = await runCli(through, 'machine', 'create', 'press');
  assert.equal(created.code, 0, created.stderr);
  // It uses streams, which go another way.
  assert.equal((await runCli(through, 'train', 'list')).code, 0);
  assert.ok(proxy.asked.length > 0 && proxy.asked.every((one) => one.includes('fleet.invalid')), proxy.asked.join());
  assert.equal((await runCli({ ...through, NO_PROXY: 'fleet.invalid' }, 'machine', 'list')).code, 7);
  const broken = { HTTP_PROXY: 'http://127.0.0.1:1', HTTPS_PROXY: 'http://127.0.0.1:1' };
  assert.equal((await runCli({ ...s.env, ...broken }, 'machine', 'list')).code, 0);
  const socks = await runCli({ ...s.env, HTTP_PROXY: 'socks5://me:hunter2@127.0.0.1:1' }, 'machine', 'list');
  assert.deepEqual(
    [socks.code, socks.stderr.includes('SOCKS proxies are not supported'), /hunter2/.test(socks.stderr)],
    [0, true, false],
  );
});

test('a configuration above the limit is refused by its own name, whatever its size', async () => {
  await using s = await stage();
  await using folder = await tempFolder();
  assert.equal((await s.cli('machine', 'create', 'press')).code, 0);
  const file = folder.file('config.json');
  for (const sizeBytes of [2 ** 20 + 1, 5 * 2 ** 20]) {
    await writeFile(file, debug.padEnd(sizeBytes));
    const { code, stderr } = await s.cli('config', 'set', 'press', file);
    assert.equal(code, 1);
    assert.ok(
      stderr.startsWith(`CONFIG_TOO_LARGE: The configuration has ${sizeBytes} bytes; the limit is 1048576 bytes.`),
      stderr,
    );
  }
  await writeFile(file, debug.padEnd(2 ** 20));
  assert.equal((await s.cli('config', 'set', 'press', file)).code, 0);
});

test('a runner works through the proxy, too', async () => {
  await using s = await stage();
  await using proxy = await proxyTo(Number(new URL(s.env.PLATFORM_URL).port));
  await using folder = await tempFolder();
  const runner = await spawnGroup({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', 'apps/runner/src/main.ts', '--folder', folder.file('runner')],
    env: plainEnvironment({
      HTTP_PROXY: `http://${proxy.url}`,
      PLATFORM_URL: 'http://fleet.invalid',
      PLATFORM_RUNNER_TOKEN: `${s.ready.runner_key_id}:${s.ready.runner_key}\n`,
    }),
    cwd: checkout,
  });
  runner.stdout?.resume();
  runner.stderr?.resume();
  try {
    let known: unknown[] = [];
    while (known.length === 0) {
      const { stdout } = await s.cli('runner', 'list', '--json');
      known = JSON.parse(stdout) as unknown[];
    }
    assert.ok(
      proxy.asked.every((one) => one.includes('fleet.invalid')),
      proxy.asked.join(),
    );
  } finally {
    await runner.stop({ termMs: 15_000 });
  }
});

/** Runs a command whose reader of stderr, or of both outputs, is gone before it writes. */
async function withoutReader(env: Record<string, string>, both: boolean, ...args: string[]): Promise<number | null> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'apps/cli/src/main.ts', ...args], {
    cwd: checkout,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', both ? 'pipe' : 'ignore', 'pipe'],
  });
  child.stdout?.destroy();
  child.stderr?.destroy();
  const [code] = (await once(child, 'close')) as [number | null];
  return code;
}

test('a reader that is gone changes no exit code', async () => {
  await using s = await stage();
  assert.equal((await s.cli('machine', 'create', 'press')).code, 0);
  assert.equal(await withoutReader(s.env, true, 'machine', 'list'), 0);
  assert.equal(await withoutReader(s.env, true, 'train', 'list', '--status', 'bogus'), 2);
  assert.equal(await withoutReader(s.env, false, 'config', 'get', 'press'), 0, 'its note goes to stderr');
  assert.equal(await withoutReader(s.env, false, 'machine', 'show', 'lathe'), 4);
});
