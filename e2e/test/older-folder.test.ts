// A data folder of an older version, and a backup of it, under this version: nothing is lost.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startCloudAt } from '../src/cloud-process.ts';
import { assertSameAsThen, buildOlderFolder, olderBackup, olderState } from './older-folder.ts';
import { checkout, dataFolder, runCli } from '../src/up-process.ts';

test('an older data folder starts under this version, and all of it is there', async () => {
  await using folder = await dataFolder();
  const dataDir = folder.file('cloud');
  await buildOlderFolder(dataDir);
  await using cloud = await startCloudAt({ checkout, dataDir, port: 0 });
  await assertSameAsThen(folder.path, cloud.ready, await olderState());
});

test('a backup of an older version is restored, brought up to date, and all of it is there', async () => {
  await using folder = await dataFolder();
  const dataDir = folder.file('cloud');
  const { code, stdout, stderr } = await runCli(
    {},
    'admin',
    'restore',
    olderBackup,
    '--data-dir',
    dataDir,
    '--json',
    '--accept-unauthenticated',
  );
  assert.equal(code, 0, stderr);
  assert.match(stdout, /"migrated":\["0026_/);
  await using cloud = await startCloudAt({ checkout, dataDir, port: 0 });
  await assertSameAsThen(folder.path, cloud.ready, await olderState());
});
