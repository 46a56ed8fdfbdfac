// Takes over from another vendor's agent: detection, the way back, and the order in which services change.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { FakeClock, tempFolder, type TempFolder } from '@platform/kit/testing';
import { takeOverBeside } from '../src/take-over/beside.ts';
import { isOtherStart } from '../src/commands/take-over-options.ts';
import { findOtherAgent, mostTries, putBack } from '../src/take-over/other-agent.ts';
import { command } from './running-agent.ts';

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

/** The other agent's folder after it has switched to one of our programs. */
async function switched(folder: TempFolder) {
  const root = folder.file('viam');
  for (const name of ['bin', 'cache', 'etc']) await mkdir(`${root}/${name}`, { recursive: true });
  const [old, ours] = [`${root}/cache/viam-agent-v0.28.1`, `${root}/cache/platform-agent`];
  for (const file of [old, ours]) await writeFile(file, '#!/bin/sh\n', { mode: 0o755 });
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
  return { root, old, ours, link: `${root}/bin/viam-agent`, record };
}

test('the guard gives three starts, then the program of before is back; the one of before is not counted', async () => {
  await using folder = await tempFolder();
  const { root, old, ours, link } = await switched(folder);
  const units = folder.file('units');
  const { code, stderr } = await command(['--install', '--viam-dir', root], { PLATFORM_AGENT_UNIT_FOLDER: units });
  assert.equal(code, 0, stderr);
  const dropIn = await readFile(`${units}/viam-agent.service.d/50-platform-agent.conf`, 'utf8');
  const [, line = ''] = /^ExecStartPre=-\/bin\/sh (.*)$/m.exec(dropIn) ?? [];
  const start = async (): Promise<string> => {
    const { status, stderr: complaint } = spawnSync('/bin/sh', line.split(' '), { encoding: 'utf8' });
    assert.equal(status, 0, complaint);
    return readlink(link);
  };
  for (let n = 1; n <= mostTries; n++) assert.equal(await start(), ours, `start ${n}`);
  assert.equal(await start(), old);
  assert.equal(await start(), old);
  assert.deepEqual(await readdir(`${root}/bin`), ['viam-agent']);
});

test('a damaged count or record, and a program of before that is gone, leave the link whole', async () => {
  await using folder = await tempFolder();
  const { root, ours, link, record } = await switched(folder);
  for (const text of ['', '{', '[]', '{"viam_agent":{"previous_version":"7","versions":{}}}']) {
    await writeFile(record, text);
    assert.equal((await findOtherAgent(process.execPath, root)).previous, undefined, text);
    const env = { PLATFORM_AGENT_UNIT_FOLDER: folder.file('units') };
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

const [ownUnit, otherUnit] = ['platform-agent.service', 'viam-agent.service'];

/** Simulated services: each systemctl request takes effect. */
function services(refused = '') {
  const active = new Set([otherUnit]);
  const enabled = new Set([otherUnit]);
  const change = (verb: string, unit: string, isNow: boolean): void => {
    if (verb === 'disable') enabled.delete(unit);
    if (verb === 'stop' || isNow) active.delete(unit);
  };
  return {
    state: () => ({ active: [...active], enabled: [...enabled] }),
    install: async () => {
      active.add(ownUnit);
      enabled.add(ownUnit);
    },
    run: async (_: string, verb = '', ...words: string[]) => {
      const unit = words.at(-1) ?? '';
      if (`${verb} ${unit}` === refused) return { code: 1, text: 'refused' };
      change(verb, unit, words.includes('--now'));
      return { code: 0, text: '' };
    },
  };
}

test('with systemd the other service ends only when ours has reached the management server; else ours ends', async () => {
  const ours = { active: [ownUnit], enabled: [ownUnit] };
  const others = { active: [otherUnit], enabled: [otherUnit] };
  const rows: [name: string, of: { fails?: string; isReached?: boolean; refused?: string }, end: typeof ours][] = [
    ['it is reached', {}, ours],
    ['the installation is refused', { fails: 'the disk is full' }, others],
    ['it does not reach the server', { isReached: false }, others],
    ['systemd refuses', { refused: `disable ${otherUnit}` }, others],
  ];
  for (const [name, { fails, isReached = true, refused }, end] of rows) {
    const machine = services(refused);
    const install = fails === undefined ? machine.install : () => Promise.reject(new Error(fails));
    const done = takeOverBeside(
      { install, isReached: async () => isReached, system: machine, clock: new FakeClock() },
      AbortSignal.abort(), // as when systemd ends this process
    );
    if (end === ours) await done;
    else await assert.rejects(done, Error, name);
    assert.deepEqual(machine.state(), end, name);
  }
});
