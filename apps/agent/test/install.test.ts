import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { once } from 'node:events';
import { chmod, lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { arch } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { FakeClock, tempFolder, type TempFolder } from '@platform/kit/testing';
import { spoolFolder } from '../src/logs/spool-segments.ts';
import { sampleFolder } from '../src/samples/sample-spool.ts';
import { command } from './running-agent.ts';
import { skipWithoutMounts, smallDisks } from './small-disk.ts';
import { listen, TestCloud } from './test-cloud.ts';

const partId = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee';
const platform = `linux/${arch() === 'arm64' ? 'arm64' : 'amd64'}`;

/** Creates a file with the header and build note of an agent for this machine; the tests never run it. */
function program(version: string, name = 'platform-agent', of = platform): Buffer {
  const header = Buffer.alloc(64);
  header.write('\x7fELF', 'latin1');
  header.set([2, 1, 1], 4);
  header.writeUInt16LE(of.endsWith('arm64') ? 183 : 62, 18);
  return Buffer.concat([
    header,
    Buffer.from(`\nPLATFORM-PROGRAM:${JSON.stringify({ name, version, platform: of })}\n`),
  ]);
}

/** Serves the calls of a management server that the installer uses. */
async function credentialsServer(answer: (key: string) => { status: number; body: string }) {
  const server = createServer((request, reply) => {
    const url = new URL(request.url ?? '', 'http://x');
    const isAsked = url.pathname === '/api/json1/config' && url.searchParams.get('client') === 'true';
    const { status, body } = isAsked
      ? answer(
          `${request.headers['key_id'] as string}/${request.headers['key'] as string}/${url.searchParams.get('id')}`,
        )
      : { status: 404, body: '' };
    reply.writeHead(status).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const credentials = (url: string, id = partId, secret = 's3cret'): string =>
  JSON.stringify({ cloud: { app_address: url, id, secret } });

interface Site {
  root: string;
  config: string;
  unit: string;
  install(args?: readonly string[], env?: Record<string, string>): ReturnType<typeof command>;
}

/** Maps all folders of a machine into a temporary folder; systemd itself is not touched. */
async function site(folder: TempFolder, version = '1.0.0'): Promise<Site> {
  const binary = folder.file('download');
  await writeFile(binary, program(version));
  const [root, config, units] = [folder.file('opt/platform'), folder.file('etc/platform.json'), folder.file('units')];
  const places = ['--root', root, '--config', config, '--unit-folder', units, '--link-folder', folder.file('bin')];
  return {
    root,
    config,
    unit: path.join(units, 'platform-agent.service'),
    install: (args = [], env = {}) => command(['install', ...places, '--binary', binary, '--unsigned', ...args], env),
  };
}

/** Every file below a folder with content, mode and link target, but without modification times. */
async function everything(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(folder, file);
    const { mode, ino } = await lstat(file);
    if (entry.isSymbolicLink()) found[name] = `-> ${await readlink(file)}`;
    else if (entry.isFile()) found[name] = `${(mode & 0o777).toString(8)} ${ino} ${await readFile(file, 'base64')}`;
  }
  return found;
}

test('story: install with part id and API key, again, another version, uninstall', async () => {
  await using folder = await tempFolder();
  await using server = await credentialsServer((key) =>
    key === `k1/v1/${partId}` ? { status: 200, body: credentials(server.url) } : { status: 401, body: '' },
  );
  const at = await site(folder);
  const env = { PLATFORM_API_KEY_ID: 'k1', PLATFORM_API_KEY: 'v1', PLATFORM_PART_ID: partId, PLATFORM_URL: server.url };

  const dry = await at.install(['--dry-run'], env);
  assert.equal(dry.code, 0, dry.stderr);
  assert.match(dry.stdout, /^This would be done:\n {2}make the folders/);
  assert.deepEqual(Object.keys(await everything(folder.file('opt'))), []);

  const first = await at.install(['--json'], { ...env, https_proxy: 'http://user:pw@proxy:3128' });
  assert.equal(first.code, 0, first.stderr);
  const outcome = JSON.parse(first.stdout) as { is_changed: boolean; version: string; steps: string[] };
  assert.deepEqual([outcome.is_changed, outcome.version], [true, '1.0.0']);
  assert.equal(await readFile(at.config, 'utf8'), credentials(server.url));
  assert.equal((await lstat(at.config)).mode & 0o777, 0o600);
  const link = await readlink(path.join(at.root, 'bin/platform-agent'));
  assert.match(link, /^\.\.\/versions\/1\.0\.0-[0-9a-f]{12}\/platform-agent$/);
  assert.deepEqual(await readFile(path.join(at.root, 'bin', link)), program('1.0.0'));
  assert.equal(await readlink(folder.file('bin/platform-agent')), path.join(at.root, 'bin/platform-agent'));
  const unit = await readFile(at.unit, 'utf8');
  assert.ok(unit.includes(`ExecStart=${at.root}/bin/platform-agent run --root ${at.root} --config ${at.config}\n`));
  assert.equal(unit.includes('pw@proxy'), false);
  assert.equal(
    await readFile(path.join(at.root, 'state/environment'), 'utf8'),
    'https_proxy="http://user:pw@proxy:3128"\n',
  );
  assert.match(await readFile(path.join(at.root, 'lib/gate'), 'utf8'), /^#!\/bin\/sh\n/);

  // The second run must not write any file.
  const before = await everything(folder.path);
  const again = await at.install([], env);
  assert.deepEqual([again.code, again.stdout], [0, 'Nothing to do: everything is already in place.\n']);
  assert.deepEqual(await everything(folder.path), before);

  // Another version goes on trial, after the way back is stored.
  await writeFile(folder.file('download'), program('1.1.0'));
  const next = await at.install([], env);
  assert.match(next.stdout, /store version 1\.1\.0-.*\n {2}use version 1\.1\.0-\S+ in place of 1\.0\.0-/);
  assert.match(await readFile(path.join(at.root, 'state/platform-agent.trial'), 'utf8'), /^1\.0\.0-\S+ 1\.1\.0-\S+ 0 /);

  const asked = await command(['uninstall', '--root', at.root]);
  assert.deepEqual([asked.code, asked.stderr], [4, 'Confirmation is required, but there is no terminal. Use --yes.\n']);
  // What an agent that runs writes besides.
  for (const name of [sampleFolder, spoolFolder, 'cache']) {
    await mkdir(path.join(at.root, name), { recursive: true });
    await writeFile(path.join(at.root, name, 'state.json'), '{}');
  }
  const gone = await command(['uninstall', '--root', at.root, '--yes', '--json']);
  assert.equal(gone.code, 0, gone.stderr);
  assert.deepEqual((JSON.parse(gone.stdout) as { left: string[] }).left, []);
  assert.deepEqual(Object.keys(await everything(folder.path)), ['download']);
  assert.equal((await command(['uninstall', '--root', at.root, '--yes'])).code, 5);
});

test('a command that cannot be linked into the path is a note: image systems have a read-only /usr', async () => {
  await using folder = await tempFolder();
  const at = await site(folder);
  await writeFile(folder.file('bin'), 'no folder');
  const { code, stdout } = await at.install(['--no-credentials']);
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    /go without \S+\/bin\/platform-agent \(.*\): the command is \S+\/opt\/platform\/bin\/platform-agent/,
  );
  assert.match(await readlink(path.join(at.root, 'bin/platform-agent')), /^\.\.\/versions\/1\.0\.0-/);
});

test('a read-only /usr/local costs only the link', { skip: skipWithoutMounts }, async () => {
  await using folder = await tempFolder();
  const local = folder.file('local');
  await using disks = await smallDisks([local]);
  await mkdir(disks.inside(`${local}/bin`));
  disks.setReadOnly(local, true);
  const at = await site(folder);
  const args = ['--no-credentials', '--link-folder', disks.inside(`${local}/bin`)];
  const first = await at.install(args);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /go without \S+\/bin\/platform-agent \(.*EROFS.*\)/);
  const again = await at.install([...args, '--json']);
  assert.equal(again.code, 0, again.stderr);
  const { is_changed, steps } = JSON.parse(again.stdout) as { is_changed: boolean; steps: string[] };
  assert.deepEqual([is_changed, steps], [false, []]);
  const gone = await command(['uninstall', '--root', at.root, '--yes', '--json']);
  assert.equal(gone.code, 0, gone.stdout + gone.stderr);
  assert.deepEqual((JSON.parse(gone.stdout) as { left: string[] }).left, []);
});

test('uninstall reports to the management server that the agent is removed, and says when it could not', async () => {
  const cloud = new TestCloud(new FakeClock());
  await using server = await listen(cloud);
  const uninstalled = async (url: string) => {
    await using folder = await tempFolder();
    const at = await site(folder);
    await mkdir(path.dirname(at.config), { recursive: true });
    await writeFile(at.config, credentials(url, cloud.partId, cloud.secret), { mode: 0o600 });
    assert.equal((await at.install()).code, 0);
    const { code, stdout, stderr } = await command(['uninstall', '--root', at.root, '--yes']);
    assert.equal(code, 0, stderr);
    return { stdout, stderr };
  };
  const heard = await uninstalled(server.url);
  assert.match(heard.stdout, /^ {2}notified the management server$/m);
  assert.equal(cloud.calls.get('goodbye'), 1);
  const alone = await uninstalled('http://127.0.0.1:1');
  assert.doesNotMatch(alone.stdout, /notified/);
  assert.match(alone.stderr, /^The management server could not be notified: the app shows this machine as offline/m);
});

test('uninstall puts back what install replaced, keeps credentials when asked, and leaves files of others', async () => {
  await using folder = await tempFolder();
  const at = await site(folder);
  await mkdir(path.dirname(at.config), { recursive: true });
  await writeFile(at.config, credentials('http://127.0.0.1:1'), { mode: 0o600 });
  await mkdir(folder.file('bin'));
  await writeFile(folder.file('bin/platform-agent'), '#!/bin/sh\necho mine\n');
  await chmod(folder.file('bin/platform-agent'), 0o755);
  const before = await everything(folder.path);
  assert.equal((await at.install()).code, 0);
  await writeFile(path.join(at.root, 'notes.txt'), 'mine');
  const gone = await command(['uninstall', '--root', at.root, '--yes', '--keep-credentials']);
  assert.equal(gone.code, 1);
  assert.match(gone.stderr, /^\S+ holds what is none of platform-agent: notes\.txt/m);
  const content = (all: Record<string, string>) =>
    Object.fromEntries(Object.entries(all).map(([name, text]) => [name, text.replace(/^(\d+) \d+ /, '$1 ')]));
  const after = content(await everything(folder.path));
  delete after['opt/platform/notes.txt'];
  assert.deepEqual(after, content(before));
});

const refused: [
  name: string,
  prepare: (at: Site, folder: TempFolder, url: string) => Promise<unknown> | void,
  args: string[],
  env: (url: string) => Record<string, string>,
  code: number,
  words: RegExp,
][] = [
  [
    'no credentials at all',
    () => {},
    [],
    () => ({}),
    4,
    /There are no credentials: .* does not exist\. Set PLATFORM_API_KEY_ID/,
  ],
  [
    'half of the environment',
    () => {},
    [],
    (url) => ({ PLATFORM_API_KEY_ID: 'k1', PLATFORM_URL: url }),
    2,
    /PLATFORM_API_KEY, PLATFORM_PART_ID must be set, too/,
  ],
  [
    'an address that is none',
    () => {},
    [],
    () => ({ ...key, PLATFORM_URL: 'barn:80' }),
    2,
    /PLATFORM_URL must be the URL of the management server; barn:80 cannot be used: it must begin with https:/,
  ],
  [
    'a wrong key',
    () => {},
    [],
    (url) => ({ ...key, PLATFORM_API_KEY: 'no', PLATFORM_URL: url }),
    1,
    /INVALID_CREDENTIALS|The key ID or the key is wrong/,
  ],
  [
    'a page in place of credentials',
    () => {},
    [],
    (url) => ({ ...key, PLATFORM_PART_ID: 'page', PLATFORM_URL: url }),
    1,
    /cannot be used: it is not a JSON object; is this the address/,
  ],
  [
    'half of an answer',
    () => {},
    [],
    (url) => ({ ...key, PLATFORM_PART_ID: 'half', PLATFORM_URL: url }),
    1,
    /it is not a JSON object/,
  ],
  [
    'a server that fails',
    () => {},
    [],
    (url) => ({ ...key, PLATFORM_PART_ID: 'broken', PLATFORM_URL: url }),
    1,
    /cannot be reached: it answers 503/,
  ],
  [
    'a long answer',
    () => {},
    [],
    (url) => ({ ...key, PLATFORM_PART_ID: 'long', PLATFORM_URL: url }),
    1,
    /its answer is too long/,
  ],
  [
    'credentials of another part',
    () => {},
    [],
    (url) => ({ ...key, PLATFORM_PART_ID: 'other', PLATFORM_URL: url }),
    1,
    /it answers for part/,
  ],
  [
    'nothing at the address',
    () => {},
    [],
    () => ({ ...key, PLATFORM_URL: 'http://127.0.0.1:9' }),
    1,
    /127\.0\.0\.1:9 cannot be reached/,
  ],
  [
    'unusable credentials that are there',
    (at) => mkdir(path.dirname(at.config), { recursive: true }).then(() => writeFile(at.config, '{"cloud"')),
    [],
    () => ({}),
    4,
    /platform\.json cannot be used: it is not a JSON object/,
  ],
  [
    'credentials of another machine that are there',
    (at) =>
      mkdir(path.dirname(at.config), { recursive: true }).then(() =>
        writeFile(at.config, credentials('http://127.0.0.1:1', 'another-part')),
      ),
    [],
    (url) => ({ ...key, PLATFORM_URL: url }),
    4,
    /holds the credentials of another machine \(part another-part\)\. Use --force/,
  ],
  [
    'another agent',
    (_, folder) =>
      mkdir(folder.file('units')).then(() =>
        writeFile(folder.file('units/viam-agent.service'), '[Service]\nExecStart=/x\n'),
      ),
    [],
    (url) => ({ ...key, PLATFORM_URL: url }),
    4,
    /viam-agent\.service \(.*\) is set up here: two agents would fight/,
  ],
  [
    'the machine server in place of the agent',
    (_, folder) => writeFile(folder.file('download'), program('1.0.0', 'platform-server')),
    [],
    (url) => ({ ...key, PLATFORM_URL: url }),
    4,
    /cannot be installed as platform-agent: it is platform-server/,
  ],
  [
    'a program for another machine',
    (_, folder) =>
      writeFile(
        folder.file('download'),
        program('1.0.0', 'platform-agent', platform === 'linux/arm64' ? 'linux/amd64' : 'linux/arm64'),
      ),
    [],
    (url) => ({ ...key, PLATFORM_URL: url }),
    4,
    /it is a program for linux\/a[a-z0-9]+, and this machine is/,
  ],
  [
    'a web page in place of a program',
    (_, folder) => writeFile(folder.file('download'), '<html>not found</html>'),
    [],
    (url) => ({ ...key, PLATFORM_URL: url }),
    4,
    /it is not a program/,
  ],
];
const key = { PLATFORM_API_KEY_ID: 'k1', PLATFORM_API_KEY: 'v1', PLATFORM_PART_ID: partId };
for (const [name, prepare, args, env, code, words] of refused) {
  test(`install refuses and changes nothing: ${name}`, async () => {
    await using folder = await tempFolder();
    await using server = await credentialsServer((asked) => {
      const part = asked.split('/')[2];
      if (!asked.startsWith('k1/v1/')) return { status: 401, body: '' };
      if (part === 'page') return { status: 200, body: '<html>Welcome</html>' };
      if (part === 'half') return { status: 200, body: credentials(server.url, 'half').slice(0, 30) };
      if (part === 'broken') return { status: 503, body: 'later' };
      if (part === 'long') return { status: 200, body: 'x'.repeat(100_000) };
      return { status: 200, body: credentials(server.url) };
    });
    const at = await site(folder);
    await prepare(at, folder, server.url);
    const before = await everything(folder.path);
    const ran = await at.install(args, env(server.url));
    assert.equal(ran.code, code, ran.stdout + ran.stderr);
    assert.match(ran.stderr, words);
    assert.equal(ran.stderr.includes('s3cret'), false);
    assert.deepEqual(await everything(folder.path), before);
  });
}

test('install --force keeps the credentials of the other machine beside the new ones', async () => {
  await using folder = await tempFolder();
  await using server = await credentialsServer(() => ({ status: 200, body: credentials(server.url) }));
  const at = await site(folder);
  await mkdir(path.dirname(at.config), { recursive: true });
  await writeFile(at.config, credentials('http://127.0.0.1:1', 'another-part'));
  const ran = await at.install(['--force'], { ...key, PLATFORM_URL: server.url });
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal(await readFile(at.config, 'utf8'), credentials(server.url));
  assert.equal(await readFile(`${at.config}.old`, 'utf8'), credentials('http://127.0.0.1:1', 'another-part'));
  assert.equal((await lstat(`${at.config}.old`)).mode & 0o777, 0o600);
});
