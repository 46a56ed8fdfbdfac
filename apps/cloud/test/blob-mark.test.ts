// The folder of the files says whose it is: a disk that is not mounted is an empty folder.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { plainEnvironment, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { openDiskBlobs } from '../src/blobs/disk.ts';
import { cloudOptions } from '../src/options.ts';
import { type Server, startServer } from '../src/server.ts';
import { testDatabase, testLog, urlOf } from './database.ts';

const admin = fileURLToPath(new URL('../src/admin.ts', import.meta.url));

async function installation() {
  await using made = new AsyncDisposableStack();
  const database = await testDatabase();
  made.defer(() => database.close());
  const folder = made.use(await tempFolder());
  const url = urlOf(database.connection);
  const options = cloudOptions(['--data-dir', folder.path, '--port', '0', '--database-url', url], {});
  const all = made.move();
  const blobs = path.join(folder.path, 'blobs');
  const start = (): Promise<Server> => startServer(options, { clock: systemClock, log: testLog });
  return {
    blobs,
    start,
    /** Stores a file, and a row that names it. */
    async storeProgram(text: string) {
      const { sha256 } = await (await openDiskBlobs(blobs)).put(Readable.from([Buffer.from(text)]));
      const bytes = Buffer.from(sha256, 'hex');
      const sizeBytes = text.length;
      await database.db
        .insertInto('release')
        .values({ name: 'p', version: text, platform: 'linux-amd64', sha256: bytes, sizeBytes })
        .execute();
      return sha256;
    },
    startOnce: async () => (await start()).close(),
    refusal: () =>
      start().then(
        async (server) => {
          await server.close();
          return 'it started';
        },
        (error: unknown) => String(error),
      ),
    adopt: (...flags: string[]) =>
      spawnSync(process.execPath, [admin, 'blobs', '--data-dir', folder.path, ...flags], {
        encoding: 'utf8',
        env: plainEnvironment({ DATABASE_URL: url }),
      }),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

test('an empty folder is marked while no row names a file, and refused afterwards', async () => {
  await using on = await installation();
  await on.startOnce();
  // Nothing is lost with an empty folder.
  await rm(on.blobs, { recursive: true });
  await on.startOnce();
  await on.storeProgram('one');
  await on.startOnce();
  const away = `${on.blobs}.away`;
  await rename(on.blobs, away);
  await mkdir(on.blobs);
  assert.match(await on.refusal(), /BLOBS_NOT_MOUNTED: The folder .*blobs does not hold the files .*Mount the disk/s);
  await rm(on.blobs, { recursive: true });
  await rename(away, on.blobs);
  await on.startOnce();
});

test('a first start that was killed before it marked the folder: the next one finds the files, and marks it', async () => {
  await using on = await installation();
  await on.startOnce();
  await on.storeProgram('one');
  const mark = path.join(on.blobs, 'installation.json');
  await rm(mark);
  await on.startOnce();
  assert.ok(existsSync(mark));
});

test('a folder of another installation is refused', async () => {
  await using on = await installation();
  await on.startOnce();
  await writeFile(path.join(on.blobs, 'installation.json'), '{"format":1,"installation_id":"other"}\n');
  assert.match(await on.refusal(), /BLOBS_NOT_MOUNTED.*those of installation other/s);
});

test('a disk that goes while the server runs makes it unavailable, and takes no new file', async () => {
  await using on = await installation();
  const server = await on.start();
  try {
    await rename(on.blobs, `${on.blobs}.away`);
    await mkdir(path.join(on.blobs, 'tmp'), { recursive: true });
    let answer = '';
    while (!answer.includes('BLOBS_NOT_MOUNTED')) {
      answer = await (await fetch(`${server.localUrl}/readyz`)).text();
      await systemClock.sleep(20);
    }
    assert.match(answer, /^unavailable\ndatabase: ok\nblobs: cannot be written: .*does not hold the files/);
    assert.deepEqual(await readdir(path.join(on.blobs, 'tmp')), []);
  } finally {
    await server.close();
  }
});

test('an operator takes a folder: at once if the files are there, else only with consent to the loss', async () => {
  await using on = await installation();
  await on.startOnce();
  const sha256 = await on.storeProgram('one');
  const mark = path.join(on.blobs, 'installation.json');
  await rm(mark);
  const inspected = JSON.parse(on.adopt('--json').stdout) as object;
  assert.deepEqual(inspected, {
    folder: on.blobs,
    mark: 'missing',
    files: { named: 1, sampled: 1, missing: [] },
  });
  assert.ok(!existsSync(mark));
  const whole = on.adopt('--adopt');
  assert.equal(whole.status, 0, whole.stderr);
  await on.startOnce();

  await rm(on.blobs, { recursive: true });
  await mkdir(on.blobs);
  const refused = on.adopt('--adopt');
  assert.equal(refused.status, 1);
  assert.match(refused.stderr, /of 1 files that rows of the database name, .* 1 are not in it.*--accept-missing/s);
  assert.match(await on.refusal(), /BLOBS_NOT_MOUNTED/);
  const accepted = on.adopt('--adopt', '--accept-missing', '--json');
  assert.deepEqual((JSON.parse(accepted.stdout) as { files: { missing: string[] } }).files.missing, [sha256]);
  await on.startOnce();
});
