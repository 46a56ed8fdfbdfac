import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { FakeClock, tempFolder } from '@platform/kit/testing';
import { statusOnDisk } from '../src/control/status-on-disk.ts';
import { encodeChecked } from '../src/storage/checked-file.ts';
import { posixDisk } from '../src/os/posix/disk.ts';
import { posixFileSystem } from '../src/os/posix/file-system.ts';
import { windowsFileSystem } from '../src/os/windows/file-system.ts';
import { linkPath, linkTarget, statePath } from '../src/versions/layout.ts';
import { badLine, trialLine, type Trial } from '../src/state/trial-file.ts';

const [old, fresh, bad] = ['1.0.0-aaaaaaaaaaaa', '1.1.0-bbbbbbbbbbbb', '1.2.0-cccccccccccc'];
const since = Date.parse('2025-12-31T22:00:00Z') / 1000;
const places = (folder: { path: string; file: (name: string) => string }) => ({
  root: folder.path,
  files: posixFileSystem(folder.path),
  disk: posixDisk(folder.path),
  clock: new FakeClock(),
  credentialsFile: folder.file('platform.json'),
});

for (const [system, fileSystem] of [
  ['Linux', posixFileSystem],
  ['Windows', windowsFileSystem],
] as const) {
  test(`without an agent its folder shows the versions that are installed, on trial and quarantined: ${system}`, async () => {
    await using folder = await tempFolder();
    const write = async (name: string, text: string): Promise<void> => {
      await mkdir(path.dirname(folder.file(name)), { recursive: true });
      await writeFile(folder.file(name), text);
    };
    await mkdir(folder.file('bin'));
    const files = fileSystem(folder.path);
    await files.symlink(linkTarget('agent', fresh), linkPath('agent'));
    const trial = { from: old, to: fresh, starts: 2, clearance: 0, since, needs: 'cloud', boot: 'b', cuts: 0 } as Trial;
    await write(statePath('agent', 'trial'), trialLine(trial));
    await write(statePath('agent', 'previous'), `${old}\n`);
    await write(statePath('agent', 'bad'), badLine({ id: bad, clearance: 0, since, reason: 'it crashed' }));
    const part = { cloud: { app_address: 'https://c.example', id: 'part-1', secret: 'a secret' } };
    await write('platform.json', JSON.stringify(part));
    const exit = { program: 'agent', id: bad, reason: 'exit 70', lines: ['boom'], sinceWall: 0 };
    await writeFile(folder.file('state/exits.json'), encodeChecked([exit]));
    const before = { reason: 'signal SIGSEGV', lines: ['it hurts', 'a secret'], words: [], atWall: 1_767_225_601_000 };

    const status = await statusOnDisk({ ...places(folder), files, previousRun: async () => before });
    const { installed, running, previous, trial: shown, quarantined } = status.programs.agent;
    assert.deepEqual([status.is_running, installed, running, previous], [false, '1.1.0', '', '1.0.0']);
    assert.deepEqual(shown, { version: '1.1.0', previous: '1.0.0', starts: 2, since: '2025-12-31T22:00:00.000Z' });
    const ended = { version: '1.2.0', reason: 'exit 70', lines: ['boom'], since: null };
    assert.deepEqual(quarantined, [
      { version: '1.2.0', reason: 'it crashed', since: '2025-12-31T22:00:00.000Z', exit: ended },
    ]);
    const { last_exit: last } = status.programs.agent;
    assert.deepEqual(
      [last?.reason, last?.lines, last?.since],
      ['signal SIGSEGV', ['it hurts', '***'], '2026-01-01T00:00:01.000Z'],
    );
    assert.deepEqual([status.agent.part_id, status.cloud.address], ['part-1', 'https://c.example']);
    assert.equal(JSON.stringify(status).includes('a secret'), false);

    // The status command ignores damaged state files.
    await write(statePath('agent', 'trial'), 'half of a');
    await write(statePath('agent', 'bad'), '\u0000\u0000');
    await write('state/status.json', '{"is_running": tr');
    const torn = await statusOnDisk({ ...places(folder), files });
    assert.deepEqual([torn.programs.agent.trial, torn.programs.agent.quarantined], [null, []]);
  });
}
