// A machine with another product's agent: it is left unchanged, migrates to ours on request, and is restored if that
// fails.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { startCloud } from '../src/cloud-process.ts';
import { installOtherAgent } from '../src/other-agent.ts';
import { checkout, runCli } from '../src/up-process.ts';

type Json = Record<string, unknown>;
const other = '0.28.1';
const otherFile = `viam-agent-v${other}-x86_64`;

function built(version: string): { file: string } {
  const out = path.join(checkout, 'dist', 'test', version);
  const args = [path.join(checkout, 'tools/release.ts'), 'platform-agent', '--release-version', version, '--out', out];
  const done = spawnSync(process.execPath, args, { env: plainEnvironment(), encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout) as { file: string };
}

test('story: the agent of another product stays, moves to ours when asked, and is put back when ours cannot start', async () => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const env = {
    PLATFORM_URL: ready.url,
    PLATFORM_API_KEY_ID: ready.api_key_id,
    PLATFORM_API_KEY: ready.api_key,
    PLATFORM_RELEASE_KEYS: folder.file('keys'),
  };
  const json = async (...args: string[]): Promise<Json> => {
    const { code, stdout, stderr } = await runCli(env, ...args, '--json');
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
    return JSON.parse(stdout) as Json;
  };
  const until = async (what: string, look: () => Promise<boolean>, log: () => Promise<string>): Promise<void> => {
    const end = systemClock.now() + 120_000;
    while (!(await look())) {
      assert.ok(systemClock.now() < end, `${what} did not happen\n${(await log()).slice(-4_000)}`);
      await systemClock.sleep(200);
    }
  };
  const codes = (machine: Json): string[] => (machine['conditions'] as { code: string }[]).map(({ code }) => code);
  await json('release', 'keys', 'init', folder.file('keys'));
  await json('release', 'publish', built('0.8.0').file, '--channel', 'stable');

  // It stays: the server offers it no program of ours, and shows its reports.
  const { credentials } = await json('machine', 'create', 'barn');
  await mkdir(folder.file('barn'));
  await using barn = await installOtherAgent({ folder: folder.file('barn'), credentials, version: other });
  await until('three checks', async () => barn.checks() >= 3, barn.log);
  const shown = await json('machine', 'show', 'barn');
  assert.deepEqual(
    [shown['has_other_agent'], shown['agent_version'], shown['server_version'], codes(shown)],
    [true, other, '0.131.0', ['OTHER_AGENT_NO_RELEASE']],
  );
  assert.deepEqual([barn.started, await barn.linked()], [[otherFile], otherFile]);
  const { stdout: text } = await runCli(env, 'machine', 'show', 'barn');
  assert.match(text, /0\.28\.1 runs, another product's agent/);
  assert.match(text, /0\.131\.0 runs/);

  // If our program cannot take over, it restores the other agent and reports why; the server offers it no more.
  const failing = await json('machine', 'create', 'shed');
  await mkdir(folder.file('shed'));
  const noFolder = folder.file('no-folder');
  await writeFile(noFolder, '');
  await using shed = await installOtherAgent({
    folder: folder.file('shed'),
    credentials: failing['credentials'],
    version: other,
    env: { PLATFORM_AGENT_ROOT: noFolder },
  });
  await until('a check', async () => shed.checks() >= 1, shed.log);
  await json('machine', 'migrate', 'shed');
  await until('the other agent is back', async () => shed.started.length >= 3, shed.log);
  const checks = shed.checks();
  await until('it checks again', async () => shed.checks() >= checks + 3, shed.log);
  assert.deepEqual([shed.started, await shed.linked()], [[otherFile, 'platform-agent', otherFile], otherFile]);
  assert.equal(await shed.current(), other);
  const back = await json('machine', 'show', 'shed');
  assert.deepEqual([back['has_other_agent'], back['migration_requested_on']], [true, '']);
  assert.deepEqual(codes(back).toSorted(), ['MIGRATION_FAILED', 'OTHER_AGENT_NO_RELEASE']);
  // Nothing of the attempt is left: neither credentials nor the guard.
  assert.deepEqual(await readdir(folder.file('shed/etc')), ['viam.json']);
  assert.deepEqual(await readdir(folder.file('shed/viam/etc')), []);
  assert.match(JSON.stringify(back['conditions']), /no-folder/);

  // On request it migrates: our program is downloaded as its update, and started in its place with its options and
  // credentials.
  await json('machine', 'migrate', 'barn');
  await until(
    'our agent reports',
    async () => {
      const now = await json('machine', 'show', 'barn');
      return now['has_other_agent'] === false && now['agent_version'] === '0.8.0' && now['reported_on'] !== '';
    },
    barn.log,
  );
  const moved = await json('machine', 'show', 'barn');
  assert.deepEqual([moved['online_state'], moved['migration_requested_on']], ['online', '']);
  assert.deepEqual(barn.started, [otherFile, 'platform-agent']);
  assert.deepEqual(JSON.parse(await readFile(folder.file('barn/etc/platform.json'), 'utf8')), credentials);
  await until(
    'the guard is gone',
    async () => (await readdir(folder.file('barn/units/viam-agent.service.d'))).length === 0,
    barn.log,
  );

  // The way back: the other agent runs again, knows its version, and is not moved again.
  const own = folder.file('barn/platform');
  await mkdir(folder.file('programs'));
  await writeFile(folder.file('programs/systemctl'), '#!/bin/sh\n', { mode: 0o755 }); // spares this host's services
  const { status, stderr } = spawnSync(path.join(own, 'bin/platform-agent'), ['migrate-back', '--root', own, '--yes'], {
    encoding: 'utf8',
    env: plainEnvironment({
      PATH: `${folder.file('programs')}:${process.env['PATH']}`,
      PLATFORM_AGENT_UNIT_FOLDER: folder.file('barn/units'),
      PLATFORM_AGENT_MEMORY_FOLDER: folder.file('barn/memory'),
    }),
  });
  assert.equal(status, 0, stderr);
  assert.deepEqual([await barn.linked(), await barn.current()], [otherFile, other]);
  barn.restart();
  const checksBefore = barn.checks();
  await until('the other agent checks again', async () => barn.checks() >= checksBefore + 3, barn.log);
  assert.deepEqual(barn.started, [otherFile, 'platform-agent', otherFile]);
  await until('it is shown', async () => (await json('machine', 'show', 'barn'))['has_other_agent'] === true, barn.log);
});
