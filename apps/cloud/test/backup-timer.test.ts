// Backups that a timer of the host makes: the command decides whether one is due, and the server reports how it went.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import path from 'node:path';
import { test } from 'node:test';
import { InstallationService } from '@platform/contract/gen/platform/installation/v1/installation_pb';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { listSnapshots } from '../src/backup/backup-folder.ts';
import { readBackupNote } from '../src/backup/backup-note.ts';
import { isDue, validIntervals } from '../src/backup/rules/next-backup.ts';
import { backUp } from './backup-folder.ts';
import { urlOf } from './database.ts';
import { endedWithTests } from './process.ts';
import { testServer, type TestServer } from './server.ts';
import { turnedClock } from './turned-clock.ts';

const hour = 3_600_000;
const admin = path.resolve(import.meta.dirname, '..', 'src', 'admin.ts');

async function byTimer(on: TestServer, folder: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const args = ['backup', '--data-dir', on.server.dataFolder, '--keep', '2', '--every-hours', '24', '--', folder];
  const child = spawn(process.execPath, [admin, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], DATABASE_URL: urlOf(on.connection) },
  });
  endedWithTests(child);
  const code = new Promise<number>((resolve) => void child.once('close', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

async function problemOf(on: TestServer, wanted: RegExp): Promise<void> {
  const health = await on.client(InstallationService);
  while (!wanted.test((await health.getHealth({})).backups?.problem ?? '')) await systemClock.sleep(100);
}

test('the command of a timer backs up only when it is due, and notes a failure for the server', async () => {
  await using folder = await tempFolder();
  const backups = folder.file('backups');
  await using on = await testServer();
  const first = await byTimer(on, backups);
  assert.equal(first.code, 0, first.stderr);
  assert.match(first.stdout, /^Snapshot 000001-/);
  const second = await byTimer(on, backups);
  assert.match(second.stdout, /^No backup is due: the newest is of \d{4}-/);
  assert.equal((await listSnapshots(backups)).whole.length, 1);

  const { dataFolder } = on.server;
  await rm(path.join(dataFolder, 'last-backup.json'));
  await rm(path.join(backups, 'platform-backup.json'));
  const failed = await byTimer(on, backups);
  assert.equal(failed.code, 1);
  const note = await readBackupNote(dataFolder);
  assert.equal(note.at, undefined);
  assert.match(note.failed?.error ?? '', /BACKUP_FOLDER_UNUSABLE/);
});

test('a server whose host makes the backups makes none, and reports the result of the timer', async () => {
  await using folder = await tempFolder();
  const [backups, foreign] = [folder.file('backups'), folder.file('foreign')];
  await mkdir(foreign);
  await writeFile(path.join(foreign, 'a'), '');
  await using on = await testServer(['--backup-dir', backups, '--backup-by-host', '--backup-every-hours', '24']);
  assert.equal((await byTimer(on, foreign)).code, 1);
  await problemOf(on, /There is no backup yet\. The last attempt failed: .*BACKUP_FOLDER_UNUSABLE/);
  assert.equal((await byTimer(on, backups)).code, 0);
  await problemOf(on, /^$/);
  assert.equal((await listSnapshots(backups)).whole.length, 1);
});

test('a timer that stopped is noticed after two intervals', async () => {
  await using folder = await tempFolder();
  const backups = folder.file('backups');
  const turned = turnedClock();
  const options = ['--backup-dir', backups, '--backup-by-host', '--backup-every-hours', '24'];
  await using on = await testServer(options, {}, turned.clock);
  assert.equal((await byTimer(on, backups)).code, 0);
  turned.advance((validIntervals * 24 - 1) * hour);
  await problemOf(on, /^$/);
  turned.advance(hour);
  await problemOf(on, /^The newest backup is of 20\d\d-.*, which is more than twice the interval ago$/);
});

test('keys that the user may not read are named', async () => {
  await using folder = await tempFolder();
  await using on = await testServer();
  const keys = path.join(on.server.dataFolder, '../release-keys');
  // Root may read each folder, but not one that is none.
  await writeFile(keys, '');
  try {
    const { unreadKeys } = await backUp(on, folder.file('backups'));
    assert.deepEqual(unreadKeys, [keys]);
  } finally {
    await rm(keys);
  }
});

const now = 1_000 * hour;
const due: readonly [name: string, last: number | undefined, everyHours: number, isDue: boolean][] = [
  ['none was made', undefined, 24, true],
  ['just made', now, 24, false],
  ['23 h old', now - 23 * hour, 24, false],
  ['due before the next hour', now - 23.6 * hour, 24, true],
  ['of the future: the clock was wrong', now + hour, 24, true],
  ['hourly, 35 min old', now - 0.6 * hour, 1, true],
  ['hourly, 20 min old', now - 0.3 * hour, 1, false],
];
for (const [name, last, everyHours, wanted] of due)
  test(`a timer finds a backup due: ${name}`, () =>
    assert.equal(isDue({ everyMs: everyHours * hour, last, now }), wanted));
