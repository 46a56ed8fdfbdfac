// kill −9 of a backup and of a restore at several moments: the next run works, and nothing half is taken for a whole.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { findSnapshot, listSnapshots } from '../src/backup/backup-folder.ts';
import { refuseIncomplete } from '../src/backup/restoring.ts';
import { verifyBackup } from '../src/backup/verify.ts';
import type { Connection } from '../src/database/database.ts';
import { backUp, contentOf, filesIn, fillServer } from './backup-folder.ts';
import { emptyDatabase, urlOf } from './database.ts';
import { endedWithTests } from './process.ts';
import { testServer, type TestServer } from './server.ts';

const admin = path.resolve(import.meta.dirname, '..', 'src', 'admin.ts');
const all = { snapshot: undefined, keys: undefined, trusted: [] };

type Ending = { code: number | null; stderr: string };

/** `platform admin …` as a process of its own; it is killed as soon as `isMoment`. */
async function runAdmin(connection: Connection, args: string[], isMoment = (): boolean => false): Promise<Ending> {
  const env = { PATH: process.env['PATH'], DATABASE_URL: urlOf(connection) };
  const child = spawn(process.execPath, [admin, ...args], { stdio: ['ignore', 'ignore', 'pipe'], env });
  endedWithTests(child);
  const chunks: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const exit = once(child, 'exit') as Promise<[number | null]>;
  while (child.exitCode === null && child.signalCode === null) {
    if (isMoment()) child.kill('SIGKILL');
    await systemClock.sleep(1);
  }
  const [code] = await exit;
  return { code, stderr: Buffer.concat(chunks).toString() };
}

const images = 60;

async function filled(): Promise<TestServer> {
  const on = await testServer();
  await fillServer(on, images);
  return on;
}

test('a backup that is killed leaves no snapshot, and the next one is whole', async (t) => {
  await using on = await filled();
  await using folder = await tempFolder();
  const to = folder.file('backups');
  const made = path.join(to, 'snapshots', '.incomplete');
  const args = ['backup', to, '--data-dir', on.server.dataFolder];
  const moments: Record<string, () => boolean> = {
    'as the folder is made': () => existsSync(path.join(to, 'platform-backup.json')),
    'as the first table is written': () => filesIn(path.join(made, 'database')) > 0,
    'after half of the tables': () => filesIn(path.join(made, 'database')) > 20,
    'as files are copied': () => filesIn(path.join(to, 'blobs')) > images / 4,
    'before the manifest': () => existsSync(path.join(made, 'blobs.txt.gz')),
    'before the name': () => existsSync(path.join(made, 'manifest.sha256')),
  };
  for (const [moment, isMoment] of Object.entries(moments))
    await t.test(moment, async () => {
      const { code, stderr } = await runAdmin(on.connection, args, isMoment);
      assert.notEqual(code, 1, stderr);
      // At the last moments the kill may come after the name: then the snapshot is whole.
      const found = await listSnapshots(to);
      assert.deepEqual(found.damaged, []);
      for (const { manifest } of found.whole) assert.equal(manifest.blobs.count, images);
    });
  const last = await runAdmin(on.connection, args);
  assert.equal(last.code, 0, last.stderr);
  assert.deepEqual((await verifyBackup({ folder: to, ...all }, {})).damaged, []);
  assert.deepEqual(
    readdirSync(path.join(to, 'snapshots')).filter((name) => name.endsWith('incomplete')),
    [],
  );
  assert.equal(filesIn(path.join(to, 'blobs')), images, 'no rest of a cut-off copy');
  await backUp(on, folder.file('calm'));
  // The running server notes in `part` when it saw the machine.
  const [whole, calm] = await Promise.all(
    [to, folder.file('calm')].map(async (one) => ({ ...contentOf(await findSnapshot(one, undefined)), part: '' })),
  );
  assert.deepEqual(whole, calm);
});

test('a restore that is killed starts no server, and the next one is whole', async (t) => {
  await using on = await filled();
  await using folder = await tempFolder();
  const from = folder.file('backups');
  await backUp(on, from);
  const [to, database] = [folder.file('restored'), await emptyDatabase()];
  const args = ['restore', from, '--data-dir', to, '--backup-key', path.join(on.server.dataFolder, 'secrets.json')];
  const moments: Record<string, () => boolean> = {
    'as the folder is marked': () => existsSync(path.join(to, 'restoring.json')),
    'as keys are written': () => existsSync(path.join(to, 'secrets.json')),
    'as files are copied': () => filesIn(path.join(to, 'blobs')) > images / 4,
    'as rows are loaded': () => filesIn(path.join(to, 'blobs')) >= images,
  };
  for (const [moment, isMoment] of Object.entries(moments))
    await t.test(moment, async () => {
      const { code, stderr } = await runAdmin(database, args, isMoment);
      assert.equal(code, null, `it was not killed: ${stderr}`);
      await assert.rejects(refuseIncomplete(to), { code: 'RESTORE_INCOMPLETE' });
    });
  const last = await runAdmin(database, args);
  assert.equal(last.code, 0, last.stderr);
  const copy = { ...on, connection: database, server: { ...on.server, dataFolder: to } };
  await backUp(copy, folder.file('again'));
  assert.deepEqual(
    contentOf(await findSnapshot(folder.file('again'), undefined)),
    contentOf(await findSnapshot(from, undefined)),
  );
});
