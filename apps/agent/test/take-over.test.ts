// Takes over from another vendor's agent: detection, the way back, and the order in which services change.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { FakeClock, tempFolder, type TempFolder } from '@platform/kit/testing';
import { takeOverBeside } from '../src/take-over/beside.ts';
import { isOtherStart } from '../src/commands/take-over-options.ts';
import { decide, type MigrationRequest } from '../src/take-over/decision.ts';
import { mostFailures, recordCreated } from '../src/take-over/guard.ts';
import { restoreOtherAgent, writeMoved } from '../src/take-over/moved.ts';
import { findOtherAgent, putBack } from '../src/take-over/other-agent.ts';
import { version } from '../src/versions/own-version.ts';
import { command } from './running-agent.ts';
import { listen, TestCloud } from './test-cloud.ts';

test("arguments with which another product's service starts its agent are distinguished from ours", () => {
  const rows: [words: string, isOther: boolean][] = [
    ['--config /etc/viam.json --enable-syscfg --enable-networking', true],
    ['-c /etc/viam.json --enable-syscfg=true', true],
    ['--install', true],
    ['--viam-dir /data --debug', true],
    ['run --root /opt/platform --config /etc/platform.json', false],
    ['--root /opt/platform --config /etc/platform.json', false],
    ['install --replace', false],
    ['--version', false],
    ['', false],
  ];
  for (const [words, isOther] of rows) assert.equal(isOtherStart(words.split(' ').filter(Boolean)), isOther, words);
});

const note = (name: string) =>
  `${['\nPLATFORM', 'PROGRAM:'].join('-')}${JSON.stringify({ name, version: '0.8.0', platform: '' })}\n`;

/** The other agent's folder after it has switched to one of our programs. */
async function switched(folder: TempFolder) {
  const root = folder.file('viam');
  for (const name of ['bin', 'cache', 'etc']) await mkdir(`${root}/${name}`, { recursive: true });
  const [old, ours] = [`${root}/cache/viam-agent-v0.28.1`, `${root}/cache/platform-agent`];
  await writeFile(old, '#!/bin/sh\n', { mode: 0o755 });
  await writeFile(ours, `#!/bin/sh\nexit 0${note('platform-agent')}`, { mode: 0o755 });
  await symlink(ours, `${root}/bin/viam-agent`);
  const one = (file: string) => ({ DlPath: file, UnpackedPath: file });
  const agent = {
    target_version: '0.8.0',
    current_version: '0.8.0',
    previous_version: '0.28.1',
    versions: { '0.28.1': one(old), '0.8.0': one(ours) },
  };
  const record = `${root}/cache/version_cache.json`;
  await writeFile(record, JSON.stringify({ viam_agent: agent, viam_server: { kept: true }, last_cleaned: 'x' }));
  const current = async (): Promise<unknown> =>
    (JSON.parse(await readFile(record, 'utf8')) as { viam_agent: Record<string, unknown> }).viam_agent[
      'current_version'
    ];
  return { root, old, ours, link: `${root}/bin/viam-agent`, record, current };
}

/** A systemctl that only records its calls: the test must not change the services of its host. */
async function scriptedSystemctl(folder: TempFolder) {
  const programs = folder.file('programs');
  await mkdir(programs);
  const file = folder.file('calls');
  await writeFile(`${programs}/systemctl`, `#!/bin/sh\necho "$@" >>${file}\n`, { mode: 0o755 });
  return {
    PATH: `${programs}:${process.env['PATH']}`,
    calls: async () => (await readFile(file, 'utf8').catch(() => '')).trim().split('\n').filter(Boolean),
  };
}

/** A prepared take-over; `start` runs the guard as systemd does before each start. */
async function prepared(folder: TempFolder) {
  const at = await switched(folder);
  const units = folder.file('units');
  const memory = folder.file('memory');
  const { PATH, calls } = await scriptedSystemctl(folder);
  const env = { PATH, PLATFORM_AGENT_UNIT_FOLDER: units, PLATFORM_AGENT_MEMORY_FOLDER: memory };
  const prepare = async (url = 'http://127.0.0.1:1'): Promise<void> => {
    const config = folder.file('other.json');
    await writeFile(config, JSON.stringify({ cloud: { app_address: url, id: 'p1', secret: 's1' } }));
    const { code, stderr } = await command(['--install', '--viam-dir', at.root, '--config', config], env);
    assert.equal(code, 0, stderr);
  };
  await prepare();
  return {
    ...at,
    units,
    prepare,
    calls,
    async start(): Promise<string> {
      const dropIn = await readFile(`${units}/viam-agent.service.d/50-platform-agent.conf`, 'utf8').catch(() => '');
      const [, line] = /^ExecStartPre=-\/bin\/sh (.*)$/m.exec(dropIn) ?? [];
      if (line !== undefined) {
        const { status, stderr } = spawnSync('/bin/sh', line.split(' '), { encoding: 'utf8', env: { PATH } });
        assert.equal(status, 0, stderr);
      }
      return readlink(at.link);
    },
    reboot: () => rm(memory, { recursive: true, force: true }),
    stopRequested: () => rm(`${memory}/take-over.started`),
  };
}

test('three failed starts restore program, record and files of before, and end our services', async () => {
  await using folder = await tempFolder();
  const { root, old, ours, units, start, calls, current } = await prepared(folder);
  await writeFile(folder.file('platform.json'), '{}');
  await recordCreated(root, folder.file('platform.json'));
  for (let n = 1; n <= mostFailures; n++) assert.equal(await start(), ours, `start ${n}`);
  assert.deepEqual([await calls(), await current()], [[], '0.8.0']);
  assert.equal(await start(), old);
  assert.equal(await current(), '0.28.1');
  assert.deepEqual(await calls(), [
    'disable platform-agent.service',
    'stop platform-agent.service platform-server.service platform-server-output.service',
    'daemon-reload',
  ]);
  assert.equal(await start(), old);
  assert.deepEqual(await readdir(`${root}/bin`), ['viam-agent']);
  assert.deepEqual(await readdir(`${units}/viam-agent.service.d`), []);
  assert.deepEqual(await readdir(`${root}/etc`), ['platform-agent-guard.failed']);
  await assert.rejects(stat(folder.file('platform.json')), { code: 'ENOENT' });
});

test('reboots, power cuts and requested stops do not count as failures', async () => {
  await using folder = await tempFolder();
  const { ours, start, reboot, stopRequested, calls } = await prepared(folder);
  for (let n = 0; n < 2 * mostFailures; n++) {
    assert.equal(await start(), ours);
    await (n % 2 === 0 ? reboot() : stopRequested());
  }
  assert.equal(await start(), ours);
  assert.deepEqual(await calls(), []);
});

test('what the guard gave up is reported by the next --install, so that it is not offered again', async () => {
  await using folder = await tempFolder();
  const { root, prepare } = await prepared(folder);
  await writeFile(`${root}/etc/platform-agent-guard.failed`, `${version}\n`);
  const cloud = new TestCloud(systemClock, 'p1');
  cloud.secret = 's1';
  await using server = await listen(cloud);
  await prepare(server.url);
  const [condition] = cloud.report.get()?.conditions ?? [];
  assert.equal(condition?.code, 'MIGRATION_FAILED');
  assert.match(condition.message, /ended 3 times before it could take over/);
  await assert.rejects(stat(`${root}/etc/platform-agent-guard.failed`), { code: 'ENOENT' });
});

test('a start takes over only if the migration is requested, or to go on', () => {
  const facts = { hasSystemd: true, runsInPlace: false, isPrepared: false, isOwnEnabled: false };
  const rows: [given: Partial<typeof facts>, request: MigrationRequest, end: 'go' | 'refuse'][] = [
    [{ isPrepared: true }, 'open', 'go'],
    [{}, 'open', 'go'],
    [{ isPrepared: true }, 'closed', 'refuse'],
    [{}, 'closed', 'refuse'],
    [{ isPrepared: true }, 'unknown', 'go'],
    [{}, 'unknown', 'refuse'],
    // Interrupted after the first check of our agent, which ends the request.
    [{ isPrepared: true, isOwnEnabled: true }, 'closed', 'go'],
    // A user enabled the other service again after the move.
    [{ isOwnEnabled: true }, 'closed', 'refuse'],
    [{ hasSystemd: false, runsInPlace: true }, 'unknown', 'go'],
    [{ hasSystemd: true, runsInPlace: true }, 'closed', 'refuse'],
  ];
  for (const [given, request, end] of rows)
    assert.equal(decide({ ...facts, ...given }, request), end, JSON.stringify({ given, request }));
});

test('a start that no user requested puts the other agent back, and installs nothing', async () => {
  await using folder = await tempFolder();
  const { root, old, link, current } = await switched(folder);
  const config = folder.file('other.json');
  await writeFile(config, JSON.stringify({ cloud: { app_address: 'http://127.0.0.1:1', id: 'p1', secret: 's1' } }));
  const places = ['--root', folder.file('opt'), '--own-config', folder.file('own.json'), '--viam-dir', root];
  const { code, stderr } = await command(['--config', config, '--enable-syscfg', ...places], {
    PATH: (await scriptedSystemctl(folder)).PATH,
    PLATFORM_AGENT_UNIT_FOLDER: folder.file('units'),
    PLATFORM_AGENT_MEMORY_FOLDER: folder.file('memory'),
  });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /no migration to platform-agent is requested/);
  assert.deepEqual([await readlink(link), await current()], [old, '0.28.1']);
  for (const name of ['opt', 'own.json']) await assert.rejects(stat(folder.file(name)), { code: 'ENOENT' });
});

test('migrate-back and uninstall restore the program and the record of the other agent', async () => {
  for (const name of ['migrate-back', 'uninstall']) {
    await using folder = await tempFolder();
    const { root, old, link, current } = await switched(folder);
    const own = folder.file('opt');
    await mkdir(`${own}/versions`, { recursive: true });
    await writeMoved(own, { root, isInPlace: true });
    const places = name === 'uninstall' ? ['--config', folder.file('own.json')] : [];
    const env = {
      PATH: (await scriptedSystemctl(folder)).PATH,
      PLATFORM_AGENT_UNIT_FOLDER: folder.file('units'),
      PLATFORM_AGENT_MEMORY_FOLDER: folder.file('memory'),
    };
    const { code, stdout, stderr } = await command([name, '--root', own, '--yes', ...places], env);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /restored the agent of another product, version 0\.28\.1/);
    assert.deepEqual([await readlink(link), await current()], [old, '0.28.1'], name);
  }
});

test('an agent of another product that was updated meanwhile is left as it is', async () => {
  await using folder = await tempFolder();
  const { root, old, link, current } = await switched(folder);
  await rm(link);
  await symlink(old, link);
  const places = { unitFolder: folder.file('units'), startFile: folder.file('started') };
  assert.deepEqual(await restoreOtherAgent(root, places), { is: 'none' });
  assert.deepEqual([await readlink(link), await current()], [old, '0.8.0']);
});

test('a damaged count or record, and a program of before that is gone, leave the link whole', async () => {
  await using folder = await tempFolder();
  const { root, ours, link, record } = await switched(folder);
  for (const text of ['', '{', '[]', '{"viam_agent":{"previous_version":"7","versions":{}}}']) {
    await writeFile(record, text);
    assert.equal((await findOtherAgent(process.execPath, root)).previous, undefined, text);
    const env = {
      PLATFORM_AGENT_UNIT_FOLDER: folder.file('units'),
      PLATFORM_AGENT_MEMORY_FOLDER: folder.file('memory'),
    };
    assert.equal((await command(['--install', '--viam-dir', root], env)).code, 0, text);
  }
  assert.equal(await readlink(link), ours);
});

test('putting back changes the link and the record of the agent, and nothing else of it', async () => {
  await using folder = await tempFolder();
  const { root, old, link, record } = await switched(folder);
  const other = await findOtherAgent(process.execPath, root);
  assert.deepEqual(other, { root, link, previous: { file: old, version: '0.28.1' } });
  await putBack(other);
  assert.equal(await readlink(link), old);
  const { viam_agent: agent, ...rest } = JSON.parse(await readFile(record, 'utf8')) as Record<
    string,
    Record<string, unknown>
  >;
  assert.deepEqual(rest, { viam_server: { kept: true }, last_cleaned: 'x' });
  assert.deepEqual([agent?.['current_version'], agent?.['target_version']], ['0.28.1', '0.28.1']);
});

const [ownUnit, serverUnit, otherUnit] = ['platform-agent.service', 'platform-server.service', 'viam-agent.service'];

/** Simulated services: each systemctl request takes effect. `stopped`: called when the other service stops. */
function services(stopped: () => void, refused = '') {
  const active = new Set([otherUnit]);
  const enabled = new Set([otherUnit]);
  const change = (verb: string, unit: string, isNow: boolean): void => {
    if (verb === 'disable') enabled.delete(unit);
    if (verb === 'stop' || isNow) active.delete(unit);
    if (unit === otherUnit && !active.has(unit)) stopped();
  };
  return {
    state: () => ({ active: [...active].toSorted(), enabled: [...enabled].toSorted() }),
    install: async () => {
      for (const unit of [ownUnit, serverUnit]) active.add(unit);
      enabled.add(ownUnit);
    },
    run: async (_: string, verb = '', ...words: string[]) => {
      const units = words.filter((word) => !word.startsWith('--'));
      if (refused !== '' && `${verb} ${units.join(' ')}` === refused) return { code: 1, text: 'refused' };
      for (const unit of units) change(verb, unit, words.includes('--now'));
      return { code: 0, text: '' };
    },
  };
}

test('with systemd the other service ends only when ours has reached the management server; else ours ends', async () => {
  const ours = { active: [ownUnit, serverUnit], enabled: [ownUnit] };
  const others = { active: [otherUnit], enabled: [otherUnit] };
  const both = { active: [ownUnit, serverUnit, otherUnit].toSorted(), enabled: [ownUnit, otherUnit].toSorted() };
  const rows: [
    name: string,
    of: { fails?: string; isReached?: boolean; refused?: string; isInterrupted?: boolean },
    end: typeof ours,
  ][] = [
    ['it is reached', {}, ours],
    ['the installation is refused', { fails: 'the disk is full' }, others],
    ['it does not reach the server', { isReached: false }, others],
    ['systemd refuses', { refused: `disable ${otherUnit}` }, others],
    ['the machine is shut down meanwhile: the next start goes on', { isInterrupted: true }, both],
  ];
  for (const [name, { fails, isReached = true, refused, isInterrupted = false }, end] of rows) {
    const stop = new AbortController();
    const machine = services(() => stop.abort(), refused); // as when systemd ends this process
    let finished = 0;
    const done = takeOverBeside(
      {
        install: fails === undefined ? machine.install : () => Promise.reject(new Error(fails)),
        async isReached() {
          if (!isInterrupted) return isReached;
          stop.abort();
          return false;
        },
        finish: async () => void finished++,
        system: machine,
        clock: new FakeClock(),
      },
      stop.signal,
    );
    if (end === others) await assert.rejects(done, Error, name);
    else await done;
    assert.deepEqual(machine.state(), end, name);
    assert.equal(finished, end === ours ? 1 : 0, name);
  }
});
