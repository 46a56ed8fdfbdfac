import assert from 'node:assert/strict';
import { stat } from 'node:fs/promises';
import test from 'node:test';
import { captureLog, FakeClock, tempFolder } from '@platform/kit/testing';
import { readTimestamp } from '@platform/releases/documents';
import type { KeyRing } from '@platform/releases/key-folder';
import { makeKey, readKey } from '@platform/releases/keys';
import { firstRoot, nextTargets } from '@platform/releases/publication';
import { newestDocument } from '../src/releases/store/release-metadata.ts';
import { openOnlineKey } from '../src/releases/online-key.ts';
import { keepFresh, takeOver } from '../src/releases/tuf-repository.ts';
import { testDatabase } from './database.ts';

const hour = 3_600_000;
const key = (kind: 'ed25519' | 'p256' = 'ed25519') => readKey(makeKey(kind), 'test');

test('documents stay fresh: every hour, after a week away, and a warning before users have to sign', async () => {
  const database = await testDatabase();
  await using folder = await tempFolder();
  const { db } = database;
  const online = await openOnlineKey(folder.path);
  assert.equal((await openOnlineKey(folder.path)).id, online.id, 'the same after a restart');
  assert.equal((await stat(folder.file('release-key.pem'))).mode & 0o777, 0o600);
  const ring: KeyRing = { root: [key()], targets: [key()], installer: [key('p256')], folders: [] };
  const clock = new FakeClock();
  const root = firstRoot(ring, 1, online.publicKey, clock.wall());
  const signed = nextTargets({ root, targets: Buffer.alloc(0) }, ring, clock.wall());
  await db.transaction().execute((trx) => takeOver(trx, { root, ...signed }, online, clock.wall()));
  const timestamp = async () => {
    const { version, bytes } = (await newestDocument(db, 'timestamp')) ?? assert.fail('there is no timestamp');
    return { version, leftMs: Date.parse(readTimestamp(bytes).signed.expires) - clock.wall() };
  };
  assert.equal((await timestamp()).version, 1);

  const { log, text } = captureLog(clock);
  const runs = async (how: { key: typeof online }, until: () => Promise<boolean>): Promise<void> => {
    const stop = new AbortController();
    const kept = keepFresh({ db, clock, log, ...how }, stop.signal);
    while (!(await until())) await clock.advance(60_000);
    stop.abort();
    await kept;
  };
  await runs({ key: online }, async () => (await timestamp()).version === 4);
  assert.ok((await timestamp()).leftMs > 22 * hour);
  assert.ok(clock.now() > 2 * hour, 'an hour lies between two signatures');

  await clock.advance(7 * 24 * hour);
  assert.ok((await timestamp()).leftMs < 0);
  await runs({ key: online }, async () => (await timestamp()).leftMs > 22 * hour);

  // Targets are valid for 90 days: two weeks before expiry, the log names the remedy once a day.
  await clock.advance(70 * 24 * hour);
  await runs({ key: online }, async () => /expires soon/.test(text()) && (await timestamp()).leftMs > 22 * hour);
  assert.match(text(), /"role":"targets".*"remedy":"platform release sign"/);
  assert.equal(text().match(/expires soon/g)?.length, 1);

  // A data folder of another installation: its key may not sign, and the log reports it.
  await runs({ key: key() }, () => Promise.resolve(/ONLINE_KEY_UNKNOWN/.test(text())));
  assert.match(text(), /rotate-root/);
  await database.close();
});
