import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { appendFile, lstat, mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { strFromU8, unzipSync } from 'fflate';
import type { AgentStatus, ControlFailure } from '@platform/contract/machine/agent-status';
import { spawnGroup, systemClock } from '@platform/kit/node';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import { diagnostics } from '../src/commands/diagnostics.ts';
import { endedByMachine } from '../src/commands/exit-codes.ts';
import { commands } from '../src/commands/table.ts';
import { command, mainFile, runtimes, startAgent } from './running-agent.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';
import { tinyServer } from './tiny-server.ts';

test('every command shows its help, and the list of all shows every command', async () => {
  const all = await command(['help']);
  assert.equal(all.code, 0);
  for (const { name, isHidden, summary } of commands) {
    assert.equal(all.stdout.includes(`  ${name}`) && all.stdout.includes(summary), !isHidden, name);
  }
  assert.deepEqual(await command(['--help']), all);
  const one = await command(['install', '--help']);
  assert.deepEqual([one.code, one.stderr], [0, '']);
  assert.match(one.stdout, /^Checks the machine[^]*Usage: platform-agent install \[options\]\n[^]*--part-id/);
  assert.deepEqual(await command(['help', 'install']), one);
  const line = await command(['--version']);
  assert.deepEqual(
    [(JSON.parse(line.stdout) as { binary_name: string }).binary_name, line.code],
    ['platform-agent', 0],
  );
  assert.deepEqual([await command(['version']), await command(['-v'])], [line, line]);
});

const credentials = (id: string, secret = 's3cr3t-of-the-part'): string =>
  JSON.stringify({ cloud: { app_address: 'http://127.0.0.1:9', id, secret } });

test('provision: shows the part, takes checked credentials, keeps the old ones, replaces others only with a flag', async () => {
  await using folder = await tempFolder();
  const config = folder.file('etc/platform.json');
  const places = ['--config', config, '--root', folder.file('agent')];
  const provision = (args: string[] = [], input = '') => command(['provision', ...places, ...args], {}, input);

  const none = await provision();
  assert.equal(none.code, 5);
  assert.match(none.stdout, /^There are no credentials in .*\nThis machine gets its credentials in one of these ways:/);

  const folderThere = await command(['provision', '--config', folder.path]);
  assert.deepEqual([folderThere.code, folderThere.stdout], [2, '']);
  assert.match(folderThere.stderr, /cannot be read: .*EISDIR/);

  await writeFile(folder.file('latin1.json'), Buffer.from('{"cloud": "Käse"}', 'latin1'));
  assert.match(
    (await provision(['--credentials', folder.file('latin1.json')])).stderr,
    /latin1\.json cannot be read: it is not valid UTF-8: byte 0xE4 at offset 12, in line 1/,
  );
  const bad = await provision(['--credentials', '-'], '{"cloud": {"id": "p"}}');
  assert.deepEqual([bad.code, bad.stdout], [2, '']);
  assert.match(bad.stderr, /The credentials from stdin cannot be used: .*app_address.*\. Copy the credentials/);
  assert.match((await provision(['--credentials', folder.file('nowhere')])).stderr, /cannot be read: .*ENOENT/);
  assert.match((await provision(['--credentials', '-'], 'x'.repeat(100_000))).stderr, /longer than 65536 bytes/);

  const first = await provision(['--credentials', '-'], credentials('part-1'));
  assert.equal(first.code, 0, first.stderr);
  assert.match(
    first.stdout,
    /^This machine is part part-1 at http:\/\/127\.0\.0\.1:9 now\. The agent uses the credentials when it starts\.$/m,
  );
  assert.equal((await lstat(config)).mode & 0o777, 0o600);
  assert.equal((await provision(['--credentials', '-'], credentials('part-1'))).code, 5);
  assert.match((await provision()).stdout, /^This machine is part part-1 at /);

  await writeFile(folder.file('other.json'), credentials('part-2'));
  const other = await provision(['--credentials', folder.file('other.json')]);
  assert.equal(other.code, 4);
  assert.match(other.stderr, /another machine \(part part-1\)\. Use --force/);
  assert.equal((await provision(['--credentials', folder.file('other.json'), '--force', '--json'])).code, 0);
  assert.equal(await readFile(config, 'utf8'), credentials('part-2'));
  assert.equal(await readFile(`${config}.old`, 'utf8'), credentials('part-1'));
  assert.equal((await lstat(`${config}.old`)).mode & 0o777, 0o600);
});

test('logs --server: the last whole lines, then new ones as they come, through a cut file', async () => {
  await using folder = await tempFolder();
  const root = folder.file('agent');
  const none = await command(['logs', '--server', '--root', root]);
  assert.equal(none.code, 5);
  assert.match(none.stderr, /There is no log .*stderr\.log yet\. The log begins when/);

  await mkdir(path.join(root, 'log'), { recursive: true });
  const file = path.join(root, 'log/platform-server.stderr.log');
  await writeFile(file, `${Array.from({ length: 300 }, (_, i) => `line ${i}\u001b[31m`).join('\n')}\nhalf of a li`);
  const last = await command(['logs', '--server', '--root', root, '-n', '2']);
  assert.deepEqual([last.code, last.stdout], [0, 'line 298?[31m\nline 299?[31m\n']);

  const follower = await spawnGroup({
    command: process.execPath,
    args: [mainFile, 'logs', '--server', '-f', '-n', '1', '--json', '--root', root],
  });
  await using _ = { [Symbol.asyncDispose]: async () => void (await follower.stop({ termMs: 5_000 })) };
  let heard = '';
  follower.stdout?.on('data', (chunk: Buffer) => (heard += chunk.toString('utf8')));
  const until = async (words: string) => {
    while (!heard.includes(words)) await systemClock.sleep(20);
  };
  await until('line 299');
  await appendFile(file, 'ne\nmore\n');
  await until('more');
  await writeFile(file, 'from the beginning\n');
  await until('from the beginning');
  const lines = heard
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { message: string }).message);
  assert.deepEqual(lines, ['line 299\u001b[31m', 'half of a line', 'more', 'from the beginning']);
  follower.signal('SIGTERM');
  assert.deepEqual(await follower.exited, { code: 0, signal: null });
  assert.match((await command(['logs', '--stdout'])).stderr, /--stdout belongs to --server/);
});

for (const [name, runtime] of Object.entries(runtimes)) {
  test(`a reader that has seen enough ends what follows, by ${name}`, async () => {
    await using folder = await tempFolder();
    await mkdir(folder.file('log'));
    const file = folder.file('log/platform-server.stderr.log');
    await writeFile(file, 'one\n');
    const child = await spawnGroup({
      command: runtime,
      args: [mainFile, 'logs', '--server', '-f', '--root', folder.path],
    });
    await using _ = { [Symbol.asyncDispose]: async () => void (await child.stop({ termMs: 5_000 })) };
    await once(child.stdout!, 'data');
    child.stdout!.destroy();
    const seen = { isOver: false };
    const ended = child.exited.finally(() => (seen.isOver = true));
    while (!seen.isOver) {
      await appendFile(file, 'more\n');
      await systemClock.sleep(50);
    }
    assert.deepEqual(await ended, { code: 0, signal: null });
  });

  test(`a slow reader gets all of a long output, by ${name}`, async () => {
    await using folder = await tempFolder();
    await mkdir(folder.file('log'));
    const line = 'x'.repeat(90);
    await writeFile(folder.file('log/platform-server.stderr.log'), `${line}\n`.repeat(9000));
    const child = await spawnGroup({
      command: runtime,
      args: [mainFile, 'logs', '--server', '-n', '9000', '--root', folder.path],
    });
    await once(child.stdout!, 'readable'); // The pipe is full; the program has finished its work and wants to exit.
    const output = await text(child.stdout!);
    assert.equal(output.split('\n').length, 9001);
    assert.deepEqual(await child.exited, { code: 0, signal: null });
  });
}

test('diagnostics: everything that is needed from afar in one zip, and no secret in any of it', async () => {
  await using folder = await tempFolder();
  const cloud = new TestCloud(systemClock);
  await using server = await listen(cloud);
  const secrets = {
    psk: 'the-wifi-password',
    hotspot: 'hotspot-pass-1',
    env: 'env-value-9876',
    proxy: 'proxy-pass-77',
    quoted: 'two"parts\\of-one-password',
  };
  cloud.agentConfig.set({
    network_configuration: { hotspot_password: secrets.hotspot },
    additional_networks: [
      { type: 'wifi', ssid: 'barn', psk: secrets.psk },
      { type: 'wifi', ssid: 'house', psk: secrets.quoted },
    ],
    advanced_settings: { platform_server_env: { DB_PASSWORD: secrets.env, COLOR: 'green' } },
  });
  const bytes = Buffer.from(
    tinyServer('1.0.0').replace('server.listen', `console.error('psk is ${secrets.psk}');\nserver.listen`),
  );
  cloud.serverRelease.set({ version: '1.0.0', sha256: sha256Of(bytes), url: server.publish('/1.0.0', { bytes }) });
  await using agent = await startAgent(folder, cloud, server.url);
  await agent.until('the server runs', (s) => s.server.url !== '' && s.config.revision > 0);

  const output = folder.file('out.zip');
  const ran = await command(
    ['diagnostics', '--root', agent.root, '--config', agent.credentialsFile, '-o', output, '--json'],
    { https_proxy: `http://user:${secrets.proxy}@proxy:1` },
  );
  assert.equal(ran.code, 0, ran.stderr);
  assert.equal((await stat(output)).mode & 0o777, 0o600);
  const files = new Map(
    Object.entries(unzipSync(await readFile(output))).map(([name, content]) => [
      name.slice(name.indexOf('/') + 1),
      strFromU8(content),
    ]),
  );
  const status = JSON.parse(files.get('status.json') ?? '') as { is_running: boolean; server: { version: string } };
  assert.deepEqual([status.is_running, status.server.version], [true, '1.0.0']);
  assert.match(files.get('doctor.json') ?? '', /"management server"/);
  assert.match(files.get('configuration.json') ?? '', /"ssid": "barn"/);
  assert.match(files.get('configuration.json') ?? '', /"COLOR": "green"/);
  assert.match(files.get('logs/server-stderr.txt') ?? '', /psk is \*\*\*\ntiny server 1\.0\.0/);
  assert.match(files.get('versions.json') ?? '', /"id": "1\.0\.0-[0-9a-f]{12}"/);
  assert.match(files.get('system/disks.txt') ?? '', /^Filesystem/);
  const all = [...files.values()].join('\n');
  for (const secret of [...Object.values(secrets), 'of-one-password', cloud.secret])
    assert.equal(all.includes(secret), false, secret);

  // Older lines still contain credentials that were replaced or damaged later.
  await writeFile(agent.credentialsFile, 'torn');
  await appendFile(path.join(agent.root, 'log/platform-server.stderr.log'), `signed in with ${cloud.secret}\n`);
  const torn = await command(
    ['diagnostics', '--root', agent.root, '--config', agent.credentialsFile, '-o', output, '--json'],
    {},
  );
  assert.equal(torn.code, 0, torn.stderr);
  const words = Object.values(unzipSync(await readFile(output))).map((content) => strFromU8(content));
  assert.ok(words.some((one) => one.includes('signed in with ***')));
  assert.equal(words.join('\n').includes(cloud.secret), false);

  // Without an agent and without any files, the command still writes a zip that reports their absence.
  const empty = await command(['diagnostics', '--root', folder.file('nowhere'), '-o', folder.file('empty.zip')]);
  assert.equal(empty.code, 0, empty.stderr);
  assert.match(empty.stdout, /^Wrote .*empty\.zip \([\d.]+ kB, \d+ files\)\. Secrets are redacted/);
});

test('diagnostics: on a machine that believes it is 1970, and into a folder that is not there', async () => {
  await using folder = await tempFolder();
  const places = { root: folder.path, config: folder.file('platform.json'), defaults: folder.file('defaults.json') };
  const lines: string[] = [];
  const io = {
    env: {},
    clock: new FakeClock(0),
    out: (line: string) => void lines.push(line),
    note: () => {},
    gone: new AbortController().signal,
    columns: undefined,
    ask: async () => undefined,
  };
  const output = folder.file('out.zip');
  assert.equal(await diagnostics({ ...places, output, json: false }, io), 0);
  const names = Object.keys(unzipSync(await readFile(output)));
  assert.ok(
    names.some((name) => /^platform-agent-.*-19700101T000000\/status\.json$/.test(name)),
    names.join(),
  );

  const nowhere = await command(['diagnostics', '--root', folder.path, '-o', folder.file('no/out.zip'), '--json']);
  assert.deepEqual([nowhere.code, nowhere.stdout], [1, '']);
  assert.match((JSON.parse(nowhere.stderr) as ControlFailure).error.remedy, /in an existing folder/);
});

test('an agent that hangs: status and doctor report it in a sentence', async () => {
  await using folder = await tempFolder();
  await mkdir(folder.file('state'));
  const deaf = createServer().listen(folder.file('state/control.sock'));
  try {
    const [status, doctor] = await Promise.all([
      command(['status', '--root', folder.path, '--json']),
      command(['doctor', '--root', folder.path, '--config', folder.file('none.json'), '--json']),
    ]);
    assert.deepEqual([status.code, status.stdout], [1, '']);
    const { error } = JSON.parse(status.stderr) as ControlFailure;
    assert.equal(error.code, 'AGENT_SILENT');
    assert.match(`${error.what} ${error.remedy}`, /has not answered for 6 seconds\. It may hang/);
    const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; says: string }[] };
    assert.equal(checks.find(({ name }) => name === 'agent')?.says, 'An agent is running but does not answer.');
  } finally {
    deaf.close();
  }
});

const refused: [code: string, exitCode: number, says: RegExp][] = [
  ['EACCES', 4, /^\/x cannot be used: not allowed\.$/],
  ['EPERM', 4, /not allowed/],
  ['EROFS', 1, /the disk is read-only/],
  ['ENOSPC', 1, /the disk is full/],
];
for (const [code, exitCode, says] of refused)
  test(`what the machine refuses is reported without a stack: ${code}`, () => {
    const ended = endedByMachine(Object.assign(new Error(code), { code, path: '/x' }));
    assert.equal(ended?.exitCode, exitCode);
    assert.match(ended.message, says);
    assert.notEqual(ended.remedy, '');
  });

test('doctor: of a machine from source, and of one whose program was damaged', async () => {
  await using folder = await tempFolder();
  const cloud = new TestCloud(systemClock);
  await using server = await listen(cloud);
  const bytes = Buffer.from(tinyServer('1.0.0'));
  cloud.serverRelease.set({ version: '1.0.0', sha256: sha256Of(bytes), url: server.publish('/1.0.0', { bytes }) });
  await using agent = await startAgent(folder, cloud, server.url);
  const link = await agent.until(
    'the server runs',
    (s) => s.server.url !== '' && path.join(agent.root, 'bin/platform-server'),
  );
  const doctor = async () => {
    const ran = await command(['doctor', '--root', agent.root, '--config', agent.credentialsFile, '--json']);
    const { checks } = JSON.parse(ran.stdout) as { checks: { name: string; at: string; says: string }[] };
    return { code: ran.code, of: (name: string) => checks.find((check) => check.name === name) };
  };
  const well = await doctor();
  assert.match(well.of('management server')?.says ?? '', /answered after \d+ ms and accepts the credentials/);
  assert.deepEqual(
    [well.of('platform-server')?.at, well.of('machine server')?.at, well.of('agent')?.at],
    ['ok', 'ok', 'ok'],
  );

  await appendFile(link, '// one bit more');
  cloud.isUp = false;
  const ill = await doctor();
  assert.equal(ill.code, 1);
  assert.deepEqual([ill.of('platform-server')?.at, ill.of('management server')?.at], ['failed', 'failed']);
  assert.match(ill.of('platform-server')?.says ?? '', /is damaged/);
});

test('story: rollback, pin and clear, at a running agent and at a machine whose agent does not run', async () => {
  await using folder = await tempFolder();
  const cloud = new TestCloud(systemClock);
  await using server = await listen(cloud);
  const publish = (version: string): void => {
    const bytes = Buffer.from(tinyServer(version));
    cloud.serverRelease.set({ version, sha256: sha256Of(bytes), url: server.publish(`/${version}`, { bytes }) });
  };
  publish('1.0.0');
  await using agent = await startAgent(folder, cloud, server.url);
  const does = async (...args: string[]) => command([...args, '--root', agent.root]);
  const runs = (version: string) => (s: AgentStatus) => s.server.at === 'running' && s.server.version === version;
  await agent.until('1.0.0 runs', runs('1.0.0'));
  const early = await does('rollback', 'server');
  assert.deepEqual([early.code, early.stdout], [1, '']);
  assert.match(early.stderr, /This machine has no previous version of platform-server/);

  publish('1.1.0');
  await agent.until(
    '1.1.0 is installed',
    (s) =>
      s.programs.server.installed === '1.1.0' ||
      s.server.is_restart_needed ||
      s.programs.server.last_update?.state === 'staged',
  );
  cloud.askForRestart();
  await agent.until('1.1.0 runs', runs('1.1.0'));
  const back = await does('rollback', 'server');
  assert.equal(back.code, 0, back.stderr);
  assert.match(back.stdout, /platform-server goes back to 1\.0\.0/);
  const { why, pin } = await agent.until('1.0.0 runs again', (s) => runs('1.0.0')(s) && s.programs.server);
  assert.equal(pin, '1.0.0');
  assert.match(why, /1\.0\.0/);

  const nothing = await does('clear', 'server');
  assert.deepEqual([nothing.code, nothing.stdout], [5, 'No version of platform-server is quarantined.\n']);
  assert.equal((await does('pin', 'server', '3.0.0')).code, 1);
  assert.equal((await does('pin', 'server', '1.0.0')).code, 5);
  const off = await does('pin', 'server', '--off', '--json');
  assert.deepEqual([off.code, (JSON.parse(off.stdout) as { is_changed: boolean }).is_changed], [0, true]);
  await agent.until('the pin is gone', (s) => s.programs.server.pin === '');

  // Without an agent the command changes the files on disk, and the next agent reads them.
  await agent.process.stop({ termMs: 20_000 });
  const rest = await does('pin', 'server', '1.0.0');
  assert.equal(rest.code, 0, rest.stderr);
  assert.match(
    rest.stdout,
    /is pinned to 1\.0\.0 on this machine\. No agent runs now: it holds from the next start on\./,
  );
  await using next = await startAgent(folder, cloud, server.url);
  await next.until('1.0.0 runs, pinned', (s) => runs('1.0.0')(s) && s.programs.server.pin === '1.0.0');

  // Without the pin the agent stages 1.1.0, so `update` finds nothing new. Then a damaged version fails.
  assert.equal((await does('pin', 'server', '--off')).code, 0);
  await next.until(
    '1.1.0 is staged',
    (s) => s.programs.server.installed === '1.1.0' || s.programs.server.last_update?.state === 'staged',
  );
  const same = await does('update', '--json');
  assert.equal(same.code, 5, same.stderr);
  const bytes = Buffer.from(tinyServer('2.0.0'));
  cloud.serverRelease.set({ version: '2.0.0', sha256: sha256Of('other'), url: server.publish('/2.0.0', { bytes }) });
  await next.until('it fails', (s) => s.programs.server.last_update?.state === 'failed');
  const bad = await does('update');
  assert.equal(bad.code, 1, bad.stdout);
  assert.match(bad.stdout, /^agent: .*\nserver: .*2\.0\.0/);
});
