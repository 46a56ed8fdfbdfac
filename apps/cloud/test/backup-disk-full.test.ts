// A disk that fills up in the middle of a backup or of a restore: reported with its remedy, earlier snapshots stay whole, and
// the same command works once there is space.
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { listSnapshots } from '../src/backup/backup-folder.ts';
import { refuseIncomplete } from '../src/backup/restoring.ts';
import { verifyBackup } from '../src/backup/verify.ts';
import { backUp, filesIn, fillServer, syncOf, upload } from './backup-folder.ts';
import { urlOf } from './database.ts';
import { endedWithTests } from './process.ts';
import { testServer } from './server.ts';

const admin = path.resolve(import.meta.dirname, '..', 'src', 'admin.ts');
const namespace = process.getuid?.() === 0 ? ['-m'] : ['-Ucm', '--keep-caps'];
/** Some systems do not let ordinary users mount, even in their own namespace. */
const canMount = spawnSync('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
const skip = canMount ? false : 'no right to mount';

/** A small disk that only the commands run on it see at its path; `inside` is the same place for this process. */
async function smallDisk(at: string, sizeMib: number) {
  const script = 'mount -t tmpfs -o "size=$2m,mode=755" tmpfs "$1" && echo mounted && exec sleep infinity';
  const holder = spawn('unshare', [...namespace, 'sh', '-c', script, 'sh', at, String(sizeMib)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  endedWithTests(holder);
  await once(createInterface({ input: holder.stdout }), 'line');
  const inside = `/proc/${holder.pid}/root${at}`;
  const filler = path.join(inside, 'filler');
  const freeBytes = (): number => {
    const { bavail, bsize } = statfsSync(inside);
    return bavail * bsize;
  };
  const enter = ['-t', String(holder.pid), '-m', ...(process.getuid?.() === 0 ? [] : ['-U', '--preserve-credentials'])];
  return {
    inside,
    freeBytes,
    /** Leaves this much; 0: nothing. */
    leave(bytes: number) {
      writeFileSync(filler, '');
      const size = freeBytes() - bytes;
      const page = Buffer.alloc(2 ** 20);
      try {
        for (let left = size; left > 0; left -= page.length)
          writeFileSync(filler, page.subarray(0, Math.min(left, page.length)), { flag: 'a' });
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'ENOSPC') throw error;
      }
    },
    free: () => truncateSync(filler, 0),
    run(command: string, args: string[], env: Record<string, string>): ChildProcess {
      const child = spawn('nsenter', [...enter, command, ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { PATH: process.env['PATH'], ...env },
      });
      endedWithTests(child);
      return child;
    },
    async [Symbol.asyncDispose]() {
      if (holder.exitCode !== null) return;
      const exit = once(holder, 'exit');
      holder.kill('SIGKILL');
      await exit;
    },
  };
}
type Disk = Awaited<ReturnType<typeof smallDisk>>;

/** Runs `platform admin …` there; the disk is full from the moment on at which `isMoment` holds. */
async function runOn(
  disk: Disk,
  args: string[],
  env: Record<string, string>,
  isMoment = (_said: string): boolean => false,
) {
  const child = disk.run(process.execPath, [admin, ...args], env);
  const chunks: Buffer[] = [];
  child.stderr?.on('data', (chunk: Buffer) => chunks.push(chunk));
  const exit = once(child, 'exit') as Promise<[number | null]>;
  let isFull = false;
  while (child.exitCode === null && child.signalCode === null) {
    if (!isFull && isMoment(String(Buffer.concat(chunks)))) {
      disk.leave(0);
      isFull = true;
    }
    await systemClock.sleep(1);
  }
  const [code] = await exit;
  return { code, isFull, stderr: Buffer.concat(chunks).toString() };
}

const images = 60;
const full = /DISK_FULL.*no space left/is;

test('a disk that is full in the middle of a backup', { skip }, async (t) => {
  await using on = await testServer();
  const { partId } = await fillServer(on, images);
  await using folder = await tempFolder();
  await using disk = await smallDisk(folder.path, 32);
  const [to, seen] = [folder.file('backups'), path.join(disk.inside, 'backups')];
  const env = { DATABASE_URL: urlOf(on.connection) };
  const args = ['backup', to, '--data-dir', on.server.dataFolder];
  const made = path.join(seen, 'snapshots', '.incomplete');
  const moments: Record<string, () => boolean> = {
    'before the first byte': () => true,
    'as the folder is made': () => existsSync(path.join(seen, 'platform-backup.json')),
    'as the first table is written': () => filesIn(path.join(made, 'database')) > 0,
    'after half of the tables': () => filesIn(path.join(made, 'database')) > 20,
    'as files are copied': () => false,
  };
  const largeBytes = 4 * 2 ** 20;
  await upload(await syncOf(on), partId, 'x'.repeat(largeBytes));
  for (const [moment, isMoment] of Object.entries(moments))
    await t.test(moment, async () => {
      disk.leave(largeBytes - 1);
      const { code, stderr } = await runOn(disk, args, env, isMoment);
      disk.free();
      assert.equal(code, 1, stderr);
      assert.match(stderr, full);
      const found = existsSync(seen) ? await listSnapshots(seen) : { damaged: [], whole: [] };
      assert.deepEqual([found.damaged, found.whole], [[], []]);
      assert.equal(existsSync(made), false, 'what was begun is removed');
    });
  const first = await runOn(disk, args, env);
  assert.equal(first.code, 0, first.stderr);

  disk.leave(0);
  const second = await runOn(disk, args, env);
  disk.free();
  assert.equal(second.code, 1, second.stderr);
  assert.match(second.stderr, full);
  const { snapshots, damaged } = await verifyBackup(
    { folder: seen, snapshot: undefined, keys: undefined, trusted: [] },
    {},
  );
  assert.deepEqual([snapshots.length, damaged], [1, []], 'the earlier snapshot is whole');
});

test('a disk that is full in the middle of a restore', { skip }, async (t) => {
  await using on = await testServer();
  await fillServer(on, images);
  await using folder = await tempFolder();
  await using place = await tempFolder();
  const from = folder.file('backups');
  await backUp(on, from);
  await using disk = await smallDisk(place.path, 400);
  const [to, seen] = [place.file('restored'), path.join(disk.inside, 'restored')];
  const args = ['restore', from, '--data-dir', to, '--backup-key', path.join(on.server.dataFolder, 'secrets.json')];
  const postgres = path.join(seen, 'postgres');
  const moments: Record<string, (logged: string) => boolean> = {
    'before the first byte': () => true,
    'as keys are written': () => existsSync(path.join(seen, 'secrets.json')),
    'as files are copied': () => filesIn(path.join(seen, 'blobs')) > 0,
    'as the database is made': () => filesIn(postgres) > 100,
    'as the database starts': () => existsSync(path.join(postgres, '18', 'postmaster.pid')),
    'as tables are made': (logged: string) => logged.includes('the database has its owner'),
  };
  for (const [moment, isMoment] of Object.entries(moments))
    await t.test(moment, async () => {
      const { code, isFull, stderr } = await runOn(disk, args, { PLATFORM_LOG_LEVEL: 'info' }, isMoment);
      disk.free();
      assert.equal(isFull, true);
      assert.equal(code, 1, stderr);
      assert.match(stderr, full);
      if (existsSync(path.join(seen, 'secrets.json')))
        await assert.rejects(refuseIncomplete(seen), { code: 'RESTORE_INCOMPLETE' });
    });
  const last = await runOn(disk, args, {});
  assert.equal(last.code, 0, last.stderr);
});
