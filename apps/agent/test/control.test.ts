import assert from 'node:assert/strict';
import { lstat, writeFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import type { AgentStatus } from '@platform/contract/machine/agent-status';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { controlOf } from '../src/control/client.ts';
import { controlLimits } from '../src/control/listen.ts';
import { socketFile } from '../src/control/address.ts';
import { command, runtimes, startAgent } from './running-agent.ts';
import { listen, sha256Of, TestCloud } from './test-cloud.ts';
import { tinyServer } from './tiny-server.ts';

/** Sends `text` and returns the whole response until the peer closes; '' if it sends nothing. */
const talk = (file: string, text: string | Buffer): Promise<string> =>
  new Promise((resolve) => {
    let heard = '';
    const socket = connect(file, () => socket.write(text));
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString('utf8')));
    socket.on('error', () => {});
    socket.on('close', () => resolve(heard));
  });

test('story: status of a running agent, of a stopped one, of a dead one', async () => {
  await using folder = await tempFolder();
  const cloud = new TestCloud(systemClock);
  await using server = await listen(cloud);
  const bytes = Buffer.from(tinyServer('1.0.0'));
  cloud.serverRelease.set({ version: '1.0.0', sha256: sha256Of(bytes), url: server.publish('/1.0.0', { bytes }) });
  cloud.agentConfig.set({ advanced_settings: { platform_server_start_timeout_minutes: -4 } });

  const before = await command(['status', '--root', folder.file('agent'), '--json']);
  assert.equal(before.code, 3);
  assert.match(before.stderr, /^No agent runs for .*systemctl start platform-agent/);
  assert.equal((JSON.parse(before.stdout) as AgentStatus).is_running, false);

  await using agent = await startAgent(folder, cloud, server.url);
  await agent.until('the server runs', (s) => s.server.at === 'running' && s.server.url !== '');
  const { code, stdout } = await command(['status', '--root', agent.root, '--json']);
  assert.equal(code, 0);
  const status = JSON.parse(stdout) as AgentStatus;
  assert.equal(status.is_running, true);
  assert.deepEqual([status.agent.part_id, status.agent.pid], [cloud.partId, agent.process.pid]);
  assert.deepEqual([status.cloud.address, status.cloud.is_reached], [server.url, true]);
  assert.deepEqual([status.config.revision, status.config.source], [1, 'cloud']);
  assert.equal(status.config.corrections[0]?.path, 'agent.advanced_settings.platform_server_start_timeout_minutes');
  assert.deepEqual([status.server.version, status.programs.server.wanted], ['1.0.0', '1.0.0']);
  assert.ok(status.server.pid !== null && status.server.pid !== agent.process.pid);
  assert.equal(status.conditions[0]?.code, 'CONFIG_CORRECTED');

  const text = await command(['status', '--root', agent.root]);
  assert.match(text.stdout, new RegExp(`^machine  ${cloud.partId}`));
  assert.match(text.stdout, /^server +running 1\.0\.0 for \d+ s, process \d+, http:/m);
  assert.match(text.stdout, /^WARNING for \d+ s: agent\.advanced_settings\.platform_server_start_timeout_minutes/m);
  assert.deepEqual(
    text.stdout.split('\n').filter((line) => line.length > 80 && line.includes(' ')),
    [],
  );

  // The agent is killed: the status comes from its files, and the machine server still runs.
  process.kill(agent.process.pid, 'SIGKILL');
  await agent.process.exited;
  const dead = await command(['status', '--root', agent.root, '--json']);
  const left = JSON.parse(dead.stdout) as AgentStatus;
  assert.deepEqual([dead.code, left.is_running], [3, false]);
  assert.deepEqual(
    [left.server.at, left.server.version, left.programs.server.installed],
    ['running', '1.0.0', '1.0.0'],
  );

  // The next agent replaces the dead agent's socket. After a clean end the last status stays.
  await using next = await startAgent(folder, cloud, server.url);
  await next.until('the server is adopted', (s) => s.server.at === 'running' && s.agent.pid === next.process.pid);
  await next.process.stop({ termMs: 20_000 });
  const stopped = await command(['status', '--root', agent.root, '--json']);
  const last = JSON.parse(stopped.stdout) as AgentStatus;
  // Without a machine server no whole configuration is in effect.
  assert.deepEqual(
    [stopped.code, last.server.at, last.config.revision, last.config.received_revision],
    [3, 'stopped', 0, 1],
  );
  assert.equal(last.programs.server.wanted, '1.0.0');
});

for (const [name, runtime] of Object.entries(runtimes)) {
  test(`the control socket is for its owner alone and outlives whatever clients do, by ${name}`, async () => {
    await using folder = await tempFolder();
    const cloud = new TestCloud(systemClock);
    await using server = await listen(cloud);
    await using agent = await startAgent(folder, cloud, server.url, { runtime });
    await agent.until('it answers', () => true);
    const file = path.join(agent.root, socketFile);
    const { mode } = await lstat(file);
    assert.equal((mode & 0o777).toString(8), '600');

    const post = (what: string, body: string): string =>
      `POST ${what} HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
    const asked: [what: string, request: string, status: number, code: string, what: RegExp][] = [
      [
        'an unknown path',
        'GET /x HTTP/1.1\r\nhost: x\r\n\r\n',
        400,
        'INVALID_ARGUMENT',
        /GET \/x.*there are GET \/status/,
      ],
      ['a wrong method', 'DELETE /status HTTP/1.1\r\nhost: x\r\n\r\n', 400, 'INVALID_ARGUMENT', /DELETE \/status/],
      ['no JSON', post('/rollback', '{'), 400, 'INVALID_ARGUMENT', /body .*must be JSON/],
      ['JSON that is not an object', post('/rollback', '[1]'), 400, 'INVALID_ARGUMENT', /one JSON object/],
      ['no program', post('/rollback', '{}'), 400, 'INVALID_ARGUMENT', /program .*agent or server/],
      ['another program', post('/clear', '{"program": "vi"}'), 400, 'INVALID_ARGUMENT', /agent or server/],
      [
        'an unknown member',
        post('/clear', '{"programm": "agent"}'),
        400,
        'INVALID_ARGUMENT',
        /programm .*there are program/,
      ],
      ['no version', post('/pin', '{"program": "agent"}'), 400, 'INVALID_ARGUMENT', /desired .*or null/],
      [
        'a long version',
        post('/pin', `{"program": "agent", "desired": "${'1'.repeat(501)}"}`),
        400,
        'INVALID_ARGUMENT',
        /500/,
      ],
      ['a long body', post('/pin', ' '.repeat(5000)), 429, 'MESSAGE_TOO_LARGE', /4096 bytes/],
    ];
    for (const [means, request, status, code, what] of asked) {
      const heard = await talk(file, request);
      assert.match(heard, new RegExp(`^HTTP/1.1 ${status} `), means);
      const { error } = JSON.parse(heard.slice(heard.indexOf('\r\n\r\n'))) as {
        error: { code: string; what: string; remedy: string };
      };
      assert.equal(error.code, code, means);
      assert.match(error.what, what, means);
      assert.notEqual(error.remedy, '', means);
    }
    for (const garbage of [
      Buffer.alloc(100_000, 0xff),
      'GET /status',
      '\r\n\r\n\r\n',
      `GET /${'x'.repeat(9000)} HTTP/1.1\r\n\r\n`,
    ]) {
      const socket = connect(file);
      socket.on('error', () => {});
      socket.resume();
      socket.end(garbage);
      await new Promise((resolve) => socket.once('close', resolve));
    }

    // The agent keeps a few of 10,000 idle connections for a while and closes the others immediately.
    const hold: Socket[] = [];
    let hungUp = 0;
    for (let i = 0; i < 10_000; i++) {
      const socket = connect(file);
      socket.on('error', () => {});
      socket.on('close', () => hungUp++);
      hold.push(socket);
      if (i % 200 === 199) while (hungUp < i + 1 - controlLimits.connections) await systemClock.sleep(5);
    }
    assert.ok(hungUp >= 10_000 - controlLimits.connections);
    for (const socket of hold) socket.destroy();
    await agent.until('it answers again', () => true);

    // The agent closes a connection with an incomplete request after the timeout.
    const began = systemClock.now();
    assert.equal(await talk(file, 'POST /pin HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{'), '');
    assert.ok(systemClock.now() - began < 3 * controlLimits.connectionMs);
    assert.equal((await controlOf(agent.root, systemClock).status()).agent.pid, agent.process.pid);
  });
}

const wrong: [args: string[], code: number, words: RegExp][] = [
  [['rollback'], 2, /^Say which program: agent or server\.\n$/],
  [['rollback', 'everything'], 2, /Say which program/],
  [['pin', 'server'], 2, /Say which version: platform-agent pin agent\|server VERSION, or --off/],
  [['pin', 'server', '1.0.0', '--off'], 2, /Say which version/],
  [['update', '--rot', '/x'], 2, /Unknown option --rot\. See platform-agent update --help/],
  [['upgrade'], 2, /Unknown command upgrade\. See platform-agent help\./],
  [['--root', '/x', 'status'], 2, /A command comes first: platform-agent COMMAND/],
  [['update', '--root', '/nowhere'], 3, /No agent runs for \/nowhere\. Start it with `systemctl start platform-agent`/],
];
for (const [args, code, words] of wrong) {
  test(`refused: platform-agent ${args.join(' ')}`, async () => {
    const ran = await command(args);
    assert.equal(ran.code, code, ran.stderr);
    assert.equal(ran.stdout, '');
    assert.match(ran.stderr, words);
  });
}

test('with --json an error is one document on stderr', async () => {
  const { code, stderr } = await command(['clear', 'agent', '--root', '/nowhere', '--json']);
  const { error } = JSON.parse(stderr) as { error: { code: string; what: string; remedy: string } };
  assert.deepEqual([code, error.code], [3, 'AGENT_NOT_RUNNING']);
  assert.match(error.remedy, /systemctl start/);
});

test('a stale socket file, or anything in its place, does not keep an agent from starting', async () => {
  await using folder = await tempFolder();
  const cloud = new TestCloud(systemClock);
  await using server = await listen(cloud);
  {
    await using first = await startAgent(folder, cloud, server.url);
    await first.until('it answers', () => true);
  }
  await writeFile(path.join(folder.file('agent'), socketFile), 'no socket');
  await using second = await startAgent(folder, cloud, server.url);
  await second.until('it answers in place of the file', (s) => s.agent.pid === second.process.pid);
});
