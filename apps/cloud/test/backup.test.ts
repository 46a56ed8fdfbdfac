// Backups of a running server: consistent, incremental, checked, and restored to the same rows and files.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { sql } from 'kysely';
import { DataService } from '@platform/contract/gen/platform/app/data/v1/data_pb';
import { InstallationService } from '@platform/contract/gen/platform/installation/v1/installation_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import { plainEnvironment, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import {
  blobPath,
  findSnapshot,
  listSnapshots,
  lockBackups,
  readBlobList,
  sha256Of,
} from '../src/backup/backup-folder.ts';
import { readBackupKey, readTrustedKeys, writeKeyFile } from '../src/backup/manifest-mac.ts';
import { verifyBackup } from '../src/backup/verify.ts';
import { attemptInputs } from '../src/blobs/attempt-inputs.ts';
import { openDiskBlobs } from '../src/blobs/disk.ts';
import { holdFiles } from '../src/database/backup-lock.ts';
import { blobFolders, sweepBlobs } from '../src/retention/sweeps.ts';
import { backUp, contentOf, damage, editManifest, fillServer, restoreTo, syncOf, upload } from './backup-folder.ts';
import { emptyDatabase, urlOf } from './database.ts';
import { testServer } from './server.ts';

const codeOf = (code: string) => (error: unknown) => error instanceof PlatformError && error.code === code;
const adminProgram = path.resolve(import.meta.dirname, '../src/admin.ts');
const all = { snapshot: undefined, keys: undefined, trusted: [] };

const filesOf = async (folder: string, snapshot?: string): Promise<string[]> => {
  const names: string[] = [];
  for await (const { sha256 } of readBlobList(await findSnapshot(folder, snapshot))) names.push(sha256);
  return names;
};

test('a backup during uploads and deletions holds every file that its rows name, and restores to the same rows', async () => {
  await using on = await testServer();
  await using folder = await tempFolder();
  const { partId, imageIds } = await fillServer(on, 30);
  const [sync, data] = [await syncOf(on), await on.client(DataService)];
  const made = folder.file('backups');
  const ended = new AbortController();
  const uploading = (async () => {
    for (let n = 0; n < 60 && !ended.signal.aborted; n++) await upload(sync, partId, `during the backup ${n}`);
  })();
  const deleting = data.deleteBinaryDataByIDs({ binaryDataIds: imageIds.slice(0, 10) });
  const result = await backUp(on, made);
  ended.abort();
  await Promise.all([uploading, deleting]);
  assert.deepEqual(result.damaged, []);
  assert.equal(result.copiedFiles, result.files);
  assert.deepEqual((await verifyBackup({ folder: made, ...all }, {})).damaged, []);

  const target = { dataDir: folder.file('restored'), connection: await emptyDatabase() };
  const restored = await restoreTo(target, made);
  assert.equal(restored.rows, result.rows);
  const again = folder.file('again');
  const copy = { ...on, connection: target.connection, server: { ...on.server, dataFolder: target.dataDir } };
  assert.deepEqual((await backUp(copy, again)).damaged, []);
  assert.deepEqual(contentOf(await findSnapshot(again, undefined)), contentOf(await findSnapshot(made, undefined)));
});

test('a second backup copies only new files; pruning removes snapshots and the files that no other names', async () => {
  await using on = await testServer();
  await using folder = await tempFolder();
  const { partId, imageIds } = await fillServer(on, 5);
  const first = await backUp(on, folder.path);
  const sync = await syncOf(on);
  await upload(sync, partId, 'one more');
  await (await on.client(DataService)).deleteBinaryDataByIDs({ binaryDataIds: imageIds.slice(0, 2) });
  const second = await backUp(on, folder.path);
  assert.deepEqual([first.copiedFiles, second.copiedFiles, second.files], [5, 1, 4]);
  const before = await filesOf(folder.path, '1');

  const third = await backUp(on, folder.path, { keep: 2 });
  assert.deepEqual(third.removed, [first.name]);
  const kept = (await listSnapshots(folder.path)).whole.map(({ name }) => name);
  assert.deepEqual(kept, [second.name, third.name]);
  assert.deepEqual((await verifyBackup({ folder: folder.path, ...all }, {})).files, 4);
  const stored = await Promise.all(before.map((one) => stat(blobPath(folder.path, one)).then(Boolean, () => false)));
  assert.equal(stored.filter(Boolean).length, 3);
});

test('the files beside a release are in a backup', async () => {
  await using on = await testServer();
  await using folder = await tempFolder();
  const blobs = await openDiskBlobs(path.join(on.server.dataFolder, 'blobs'));
  const stored: string[] = [];
  for (const text of ['program', 'licenses']) stored.push((await blobs.put(Readable.from([Buffer.from(text)]))).sha256);
  const [program = '', licenses = ''] = stored;
  await sql`insert into release (name, version, platform, sha256, size_bytes)
    values ('p', '1', 'linux-amd64', decode(${program}, 'hex'), 7)`.execute(on.db);
  await sql`insert into release_attachment (name, version, platform, kind, sha256, size_bytes)
    values ('p', '1', 'linux-amd64', 'licenses', decode(${licenses}, 'hex'), 8)`.execute(on.db);
  await backUp(on, folder.path);
  assert.deepEqual((await filesOf(folder.path)).toSorted(), stored.toSorted());
});

test('while a backup runs, a sweep deletes no file', async () => {
  await using on = await testServer();
  const { imageIds } = await fillServer(on, 3);
  await (await on.client(DataService)).deleteBinaryDataByIDs({ binaryDataIds: imageIds });
  const blobs = await openDiskBlobs(path.join(on.server.dataFolder, 'blobs'));
  const deps = { db: on.db, blobs, inputs: attemptInputs(blobs) };
  const sweep = async (now: number): Promise<number> => {
    let removed = 0;
    for (const folder of blobFolders) removed += await sweepBlobs(deps, { folder, now, graceMs: 1 });
    return removed;
  };
  const later = Date.now() + 60_000;
  assert.equal(await sweep(later), 0);
  await on.db.connection().execute(async (session) => {
    await sql.raw(holdFiles).execute(session);
    assert.equal(await sweep(later + 10), 0);
    await sql`select pg_advisory_unlock_all()`.execute(session);
  });
  assert.equal(await sweep(later + 20), 3);
});

test('files that the data folder lost or damaged are named, and a later backup does not lose them from the folder', async () => {
  await using on = await testServer();
  await using folder = await tempFolder();
  await fillServer(on, 3);
  await backUp(on, folder.path);
  const [lost = '', cut = ''] = await filesOf(folder.path);
  await rm(blobPath(on.server.dataFolder, lost));
  await writeFile(blobPath(on.server.dataFolder, cut), 'x');
  const second = await backUp(on, folder.path);
  assert.deepEqual(second.damaged.map(({ file }) => path.basename(file)).toSorted(), [lost, cut].toSorted());
  assert.equal(second.files, 3);
  assert.deepEqual((await verifyBackup({ folder: folder.path, ...all }, {})).damaged, []);
});

test('verify names every damaged file, and restore refuses before it writes', async () => {
  await using on = await testServer();
  await using folder = await tempFolder();
  await fillServer(on, 3);
  const backups = folder.file('backups');
  await backUp(on, backups);
  const { folder: at } = await findSnapshot(backups, undefined);
  const [image = '', missing = ''] = await filesOf(backups);
  const bad = [blobPath(backups, image), blobPath(backups, missing), path.join(at, 'database', 'part.copy.gz')];
  await damage(bad[0] ?? '');
  await rm(bad[1] ?? '');
  await damage(bad[2] ?? '');
  const found = await verifyBackup({ folder: backups, ...all }, {});
  assert.deepEqual(found.damaged.map(({ file }) => file).toSorted(), bad.toSorted());
  const target = { dataDir: folder.file('restored'), connection: await emptyDatabase() };
  await assert.rejects(restoreTo(target, backups), codeOf('BACKUP_DAMAGED'));
  assert.deepEqual(await readdir(folder.path), ['backups']);
});

test('what verify says of a manifest that cannot be read is one sentence; backup and verify print no log lines', async () => {
  await using on = await testServer();
  await using folder = await tempFolder();
  const env = plainEnvironment({ DATABASE_URL: urlOf(on.connection) });
  const admin = (...args: string[]) => spawnSync(process.execPath, [adminProgram, ...args], { encoding: 'utf8', env });
  const backups = folder.file('backups');
  const made = admin('backup', '--data-dir', on.server.dataFolder, '--', backups);
  assert.deepEqual([made.status, made.stderr], [0, '']);
  const { folder: at } = await findSnapshot(backups, undefined);
  await rm(path.join(at, 'manifest.json'));
  const { status, stderr } = admin('verify', '--', backups);
  assert.equal(status, 1);
  const [first = ''] = stderr.split('. ');
  assert.equal(
    first,
    `BACKUP_DAMAGED: The backup is damaged and cannot be restored: ${path.join(at, 'manifest.json')}: manifest.json cannot be read`,
  );
});

test('a restore that found a damaged image can go on without it, and begins anew in its own folder', async () => {
  await using on = await testServer();
  await using folder = await tempFolder();
  await fillServer(on, 3);
  const backups = folder.file('backups');
  await backUp(on, backups);
  const [image = ''] = await filesOf(backups);
  await damage(blobPath(backups, image));
  const target = { dataDir: folder.file('restored'), connection: await emptyDatabase() };
  await assert.rejects(restoreTo(target, backups), codeOf('BACKUP_DAMAGED'));
  const { damaged, files } = await restoreTo(target, backups, { acceptDamaged: true });
  assert.deepEqual([damaged.length, files], [1, 2]);
  await assert.rejects(restoreTo(target, backups), codeOf('RESTORE_TARGET_IN_USE'));
});

test('a restore takes only what the key of the installation proves, and verify names the rest', async (t) => {
  await using on = await testServer();
  await using other = await testServer();
  await using folder = await tempFolder();
  await fillServer(on, 1);
  const { dataFolder } = on.server;
  const backups = folder.file('backups');
  const made = await backUp(on, backups);
  const keyFile = folder.file('key.json');
  assert.equal(await writeKeyFile(keyFile, await readBackupKey(dataFolder)), true);
  assert.equal(await writeKeyFile(keyFile, await readBackupKey(dataFolder)), false);
  assert.equal((await stat(keyFile)).mode & 0o777, 0o600);
  const own = await readTrustedKeys({ backupKey: keyFile, hostKey: undefined });
  const foreign = [await readBackupKey(other.server.dataFolder)];
  const target = { dataDir: folder.file('restored'), connection: await emptyDatabase() };
  const plain = { acceptUnauthenticated: false };
  const verified = async (trusted: typeof own) => {
    const { withoutMac, notAuthenticated, damaged } = await verifyBackup({ folder: backups, ...all, trusted }, {});
    return { withoutMac, notAuthenticated, damaged: damaged.map(({ file }) => path.basename(file)) };
  };
  const fine = { withoutMac: [], notAuthenticated: [], damaged: [] };
  const notAuthenticated = codeOf('BACKUP_NOT_AUTHENTICATED');
  await t.test('the key in the backup proves nothing, nor does that of another installation', async () => {
    await assert.rejects(restoreTo(target, backups, plain), notAuthenticated);
    await assert.rejects(restoreTo(target, backups, { ...plain, trusted: foreign }), notAuthenticated);
    await assert.rejects(restoreTo(target, backups, { ...plain, keys: keysIn(made) }), notAuthenticated);
    assert.deepEqual(await verified(foreign), { ...fine, notAuthenticated: [made.name] });
    assert.deepEqual(await verified([...foreign, ...own]), fine);
  });
  await t.test('a manifest that was changed with its sum is refused, and named', async () => {
    const [manifest, sum] = ['manifest.json', 'manifest.sha256'].map((name) => path.join(made.folder, name));
    const [text, before] = [await readFile(manifest ?? '', 'utf8'), await readFile(sum ?? '', 'utf8')];
    const changed = text.replace('"rows": 1,', '"rows": 2,');
    await writeFile(manifest ?? '', changed);
    await writeFile(sum ?? '', sha256Of(changed));
    await assert.rejects(restoreTo(target, backups, { ...plain, trusted: own }), codeOf('BACKUP_DAMAGED'));
    await assert.rejects(restoreTo(target, backups), codeOf('BACKUP_DAMAGED'), 'not even with the flag');
    assert.deepEqual(await verified(own), { ...fine, damaged: ['manifest.mac'] });
    await writeFile(manifest ?? '', text);
    await writeFile(sum ?? '', before);
  });
  await t.test('keys from elsewhere, keys that a passphrase opens, and the key file prove it', async () => {
    const [apart, passphrase] = [folder.file('keys.json'), 'correct horse'];
    await backUp(on, folder.file('apart'), { keysTo: apart });
    await backUp(on, folder.file('sealed'), { passphrase });
    await backUp(on, folder.file('again'));
    const proofs: [string, Parameters<typeof restoreTo>[2]][] = [
      ['apart', { keys: apart }],
      ['sealed', { passphrase }],
      ['backups', { trusted: own }],
      [
        'again',
        { trusted: await readTrustedKeys({ backupKey: undefined, hostKey: path.join(dataFolder, 'secrets.json') }) },
      ],
    ];
    for (const [name, proof] of proofs) {
      const into = { dataDir: folder.file(`from-${name}`), connection: await emptyDatabase() };
      assert.equal((await restoreTo(into, folder.file(name), { ...plain, ...proof })).files, 1, name);
    }
    await assert.rejects(restoreTo(target, backups, { ...plain, passphrase }), notAuthenticated, 'keys in plain text');
  });
  await t.test('a MAC that was removed is noticed; the flag restores without it', async () => {
    await rm(path.join(made.folder, 'manifest.mac'));
    await assert.rejects(restoreTo(target, backups, { ...plain, trusted: own }), notAuthenticated);
    assert.deepEqual(await verified(own), { ...fine, withoutMac: [made.name] });
    assert.equal((await restoreTo(target, backups, { trusted: own, acceptUnauthenticated: true })).files, 1);
  });
  await t.test('a file without a key is refused', async () => {
    await writeFile(folder.file('none.json'), '{"a":1}');
    await assert.rejects(
      readTrustedKeys({ backupKey: folder.file('none.json'), hostKey: undefined }),
      codeOf('INVALID_ARGUMENT'),
    );
  });
});

const keysIn = ({ folder }: { folder: string }): string => path.join(folder, 'keys.json');

test('a server with a schedule makes backups, keeps the newest, and reports them', async () => {
  await using folder = await tempFolder();
  const backups = folder.file('backups');
  await using on = await testServer([
    '--backup-dir',
    backups,
    '--backup-every-hours',
    '0.001',
    '--backup-keep',
    '1',
    '--metrics-port',
    '0',
  ]);
  const { metricsUrl = '', localUrl } = on.server;
  const metric = async (): Promise<string | undefined> =>
    /^platform_backup_last_success_timestamp_seconds (\S+)$/m.exec(await (await fetch(metricsUrl)).text())?.[1];
  const until = async <T>(read: () => Promise<T | undefined>): Promise<T> => {
    for (;;) {
      const found = await read();
      if (found !== undefined) return found;
      await systemClock.sleep(100);
    }
  };
  assert.ok(Math.abs(Number(await until(metric)) * 1_000 - Date.now()) < 60_000);
  assert.equal((await listSnapshots(backups)).damaged.length, 0);
  const health = await on.client(InstallationService);
  const { backups: made } = await health.getHealth({});
  assert.deepEqual(
    { ...made, lastOn: made?.lastOn !== undefined },
    { ...made, everyHours: 0.001, keep: 1, lastOn: true, problem: '' },
  );
  await rm(path.join(on.server.dataFolder, 'last-backup.json'));
  await rm(path.join(backups, 'platform-backup.json'));
  const notice = async () =>
    /^notice: (.*attempt failed.*)$/m.exec(await (await fetch(`${localUrl}/readyz`)).text())?.[1];
  assert.match(await until(notice), /BACKUP_FOLDER_UNUSABLE/);
  assert.match((await health.getHealth({})).backups?.problem ?? '', /BACKUP_FOLDER_UNUSABLE/);
});

test('what cannot be backed up or restored is refused with its reason', async (t) => {
  await using on = await testServer();
  await using other = await testServer();
  await using folder = await tempFolder();
  await fillServer(on, 1);
  const backups = folder.file('backups');
  const passphrase = 'correct horse';
  await backUp(on, backups, { passphrase });
  const target = { dataDir: folder.file('restored'), connection: await emptyDatabase() };
  const refused = (name: string, code: string, work: () => Promise<unknown>): Promise<void> =>
    t.test(name, () => assert.rejects(work, codeOf(code)));
  const inside = path.join(on.server.dataFolder, 'backups');
  await refused('a folder in the data folder', 'BACKUP_FOLDER_UNUSABLE', () => backUp(on, inside));
  await refused('a folder around the data folder', 'BACKUP_FOLDER_UNUSABLE', () =>
    backUp(on, path.dirname(on.server.dataFolder)),
  );
  await writeFile(folder.file('file'), '');
  await refused('a folder with other files', 'BACKUP_FOLDER_UNUSABLE', () => backUp(on, folder.path));
  await refused('a disk of backups that is not mounted', 'BACKUP_FOLDER_UNUSABLE', async () => {
    const away = folder.file('away');
    await rename(backups, away);
    await mkdir(backups);
    try {
      await backUp(on, backups);
    } finally {
      await rm(backups, { recursive: true });
      await rename(away, backups);
    }
  });
  await refused('another installation', 'BACKUP_OTHER_INSTALLATION', () => backUp(other, backups));
  await refused('two at once', 'BACKUP_IN_USE', async () => {
    await using _lock = await lockBackups(backups);
    await backUp(on, backups);
  });
  await refused('a passphrase that is missing', 'BACKUP_PASSPHRASE_WRONG', () => restoreTo(target, backups));
  await refused('a wrong passphrase', 'BACKUP_PASSPHRASE_WRONG', () => restoreTo(target, backups, { passphrase: 'x' }));
  const elsewhere = folder.file('keys.json');
  await backUp(on, backups, { keysTo: elsewhere });
  await refused('keys that are kept elsewhere', 'BACKUP_KEYS_MISSING', () => restoreTo(target, backups));
  const foreign = folder.file('foreign.json');
  await backUp(other, folder.file('others'), { keysTo: foreign });
  await refused('keys of another installation', 'BACKUP_KEYS_MISSING', () =>
    restoreTo(target, backups, { keys: foreign }),
  );
  await refused('a snapshot that is not there', 'BACKUP_NOT_FOUND', () =>
    restoreTo(target, backups, { snapshot: '99' }),
  );
  await refused('a database with tables', 'RESTORE_TARGET_IN_USE', () =>
    restoreTo({ ...target, connection: on.connection }, backups, { keys: elsewhere }),
  );
  const edit = (change: Parameters<typeof editManifest>[2]) => editManifest(backups, on.server.dataFolder, change);
  const sizeOf = (bytes: number) => edit(({ database }) => void (database.diskBytes = bytes));
  const { diskBytes } = (await findSnapshot(backups, undefined)).manifest.database;
  await sizeOf(1e18);
  await refused('a disk without room for the rows', 'DISK_FULL', () =>
    restoreTo(target, backups, { keys: elsewhere, databaseUrl: undefined }),
  );
  assert.deepEqual(await readdir(target.dataDir), ['restoring.json']);
  await sizeOf(diskBytes);
  await rm(target.dataDir, { recursive: true });
  await mkdir(path.join(target.dataDir, 'x'), { recursive: true });
  await refused('a folder that is not empty', 'RESTORE_TARGET_IN_USE', () =>
    restoreTo(target, backups, { keys: elsewhere }),
  );
  const migrations = (await findSnapshot(backups, undefined)).manifest.database.migrations;
  await edit(({ database }) => void (database.migrations = [{ name: '0058_conditions.sql', sha256: '0' }]));
  await refused('a version before the first release', 'DATA_NOT_RELEASED', () =>
    restoreTo(target, backups, { keys: elsewhere }),
  );
  await edit(({ database }) => void (database.migrations = migrations));
  await edit(({ database }) => database.migrations.push({ name: '9999_later.sql', sha256: '0' }));
  await refused('a newer schema', 'BACKUP_NEWER', () => restoreTo(target, backups, { keys: elsewhere }));
  // Whoever can write to the folder can also write the sum beside the manifest.
  await edit(({ database: { partitions } }) => {
    for (const one of partitions) one.bound += '; create table pwned as select current_user';
  });
  await refused('SQL in a manifest', 'BACKUP_DAMAGED', () => restoreTo(target, backups, { keys: elsewhere }));
  const cut = path.join(backups, 'snapshots', '000009-cut');
  await mkdir(cut);
  await refused('a snapshot without its manifest', 'BACKUP_DAMAGED', () => restoreTo(target, backups));
  const incomplete = folder.file('incomplete');
  await mkdir(path.join(incomplete, 'snapshots', '.incomplete', 'database'), { recursive: true });
  await refused('a backup that was cut off', 'BACKUP_NOT_FOUND', () => restoreTo(target, incomplete));
});
