import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import test from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { checkInstallerList, installerList } from '../src/installer-list.ts';
import { checkRoot, checkTargets } from '../src/checks.ts';
import {
  readRoot,
  readSnapshot,
  readTimestamp,
  rolesOf,
  signRoot,
  signTargets,
  targetsOf,
  type Roles,
} from '../src/documents.ts';
import { makeKeyFile, makeKeyFolder, readKeyFolders, type KeyRing } from '../src/key-folder.ts';
import { keyId, makeKey, readKey, readPublicKey, type SigningKey } from '../src/keys.ts';
import { renewed } from '../src/online.ts';
import { firstRoot, nextRoot, nextTargets, programTarget, signInstallerList } from '../src/publication.ts';
import { isTargetOf } from '../src/targets.ts';

const start = Date.parse('2026-03-01T00:00:00Z');
const hour = 3_600_000;
const day = 24 * hour;
const key = (kind: 'ed25519' | 'p256' = 'ed25519'): SigningKey => readKey(makeKey(kind), 'test');
const ring: KeyRing = {
  root: [key(), key(), key()],
  targets: [key()],
  installer: [key('p256')],
  folders: ['test'],
};
const online = key();
const root = firstRoot(ring, 2, online.publicKey, start);
const sha256 = 'ab'.repeat(32);
const file = programTarget(
  { name: 'platform-agent', version: '1.0.0', platform: 'linux/amd64' },
  { sizeBytes: 9, sha256 },
);
const { targets, installerSignature } = nextTargets({ root, targets: Buffer.alloc(0) }, ring, start, { add: [file] });

const outcome = (work: () => void): string => {
  try {
    work();
    return 'taken';
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^METADATA_REFUSED: [^:]*: /, '').split('. Nothing')[0]! : '';
  }
};

test('what a server takes as the next root document', () => {
  const roles = rolesOf(root);
  const next = (change: Partial<Roles>, { version = 2, now = start, keys = ring.root } = {}): Buffer =>
    signRoot({ version, roles: { ...roles, ...change }, now, keys });
  const other = key();
  const rows: [string, Buffer, RegExp][] = [
    ['the same keys', next({}), /^taken$/],
    ['a key more', next({ root: { keys: [...roles.root.keys, other.publicKey], threshold: 2 } }), /^taken$/],
    ['two of its signers', next({}, { keys: ring.root.slice(1) }), /^taken$/],
    ['one of its signers', next({}, { keys: ring.root.slice(0, 1) }), /by the keys of the root before it.*1\/2/],
    ['only unknown signers', next({}, { keys: [other, key()] }), /by the keys of the root before it.*0\/2/],
    [
      'new keys that did not sign',
      next({ root: { keys: [key().publicKey, key().publicKey], threshold: 2 } }),
      /by its own keys.*0\/2/,
    ],
    ['the same version again', next({}, { version: 1 }), /version 1, expected 2/],
    ['a version left out', next({}, { version: 3 }), /version 3, expected 2/],
    ['more signers than keys', next({ root: { ...roles.root, threshold: 4 } }), /wants 4 of 3/],
    ['no signer at all', next({ root: { ...roles.root, threshold: 0 } }), /at least 1/],
    ['no key for the list', next({ targets: { keys: [], threshold: 1 } }), /targets wants 1 of 0|no keys for targets/],
    [
      'the server may sign lists',
      next({ targets: { keys: [online.publicKey], threshold: 1 } }),
      /may not sign targets/,
    ],
    ['no installer key', next({ installerKey: '' }), /not a public key in PEM form/],
    ['expired', next({}, { now: start - 400 * day }), /expired on/],
    ['valid for ten years', next({}, { now: start + 3_650 * day }), /longer than 365 days/],
    ['a list in its place', targets, /expected 'root', got targets/],
    ['no document', Buffer.from('<html>'), /./],
    ['endless', Buffer.alloc(2 << 20, 32), /the limit is/],
  ];
  for (const [name, bytes, problem] of rows) {
    assert.match(
      outcome(() => checkRoot(bytes, root, start)),
      problem,
      name,
    );
  }
  assert.equal(
    outcome(() => checkRoot(root, undefined, start)),
    'taken',
  );
  assert.match(
    outcome(() => checkRoot(next({}), undefined, start)),
    /version 2, expected 1/,
  );
  // An id is the hash of its key: one key under two ids would count twice.
  const twice = JSON.parse(root.toString()) as { signed: { keys: Record<string, unknown> } };
  twice.signed.keys['f'.repeat(64)] = Object.values(twice.signed.keys)[0];
  assert.match(
    outcome(() => checkRoot(Buffer.from(JSON.stringify(twice)), undefined, start)),
    /has another id/,
  );
});

test('what a server takes as the next list of files', () => {
  const next = (
    list = [file],
    {
      version = 2,
      now = start,
      keys = ring.targets,
    }: { version?: number; now?: number; keys?: readonly SigningKey[] } = {},
  ): Buffer => signTargets({ version, targets: list, now, keys });
  const words = { name: 'platform-agent', version: '1.1.0', platform: 'linux/amd64' };
  const rows: [string, Buffer, RegExp][] = [
    ['the same list', next(), /^taken$/],
    ['a file more', next([file, programTarget(words, { sizeBytes: 1, sha256 })]), /^taken$/],
    ['a file withdrawn', next([]), /^taken$/],
    ['another hash', next([{ ...file, sha256: 'cd'.repeat(32) }]), /published with other bytes/],
    ['not the key of the list', next([file], { keys: [key()] }), /0\/1 keys/],
    ['the key of the server', next([file], { keys: [online] }), /0\/1 keys/],
    ['an old one', next([file], { version: 1 }), /version 1, expected 2/],
    ['a version left out', next([file], { version: 4 }), /another publisher may have published/],
    ['expired', next([file], { now: start - 100 * day }), /expired on/],
    ['valid for years', next([file], { now: start + 900 * day }), /longer than 90 days/],
    ['a path that says something else', next([{ ...file, path: 'platform-agent/2.0.0/linux-amd64' }]), /not described/],
    ['an empty file', next([{ ...file, path: file.path, sizeBytes: 0 }]), /not described/],
  ];
  for (const [name, bytes, problem] of rows) {
    assert.match(
      outcome(() => checkTargets(root, bytes, targets, start)),
      problem,
      name,
    );
  }
});

test('what an entry of the list must look like', () => {
  const custom = file.custom;
  const rows: [string, unknown, boolean][] = [
    ['as it is', file, true],
    ['no words', { ...file, custom: {} }, false],
    ['nothing', { ...file, custom: null }, false],
    ['another program', { ...file, path: 'sh/1.0.0/linux-amd64', custom: { ...custom, name: 'sh' } }, false],
    ['a way out', { ...file, path: 'platform-agent/../linux-amd64', custom: { ...custom, version: '..' } }, false],
    ['a size that is none', { ...file, sizeBytes: 1.5 }, false],
    ['a hash that is none', { ...file, sha256: 'AB'.repeat(32) }, false],
    [
      'a patch',
      {
        path: `delta/${'a'.repeat(12)}/${'b'.repeat(12)}`,
        sizeBytes: 1,
        sha256,
        custom: { from_sha256: 'a'.repeat(64), to_sha256: 'b'.repeat(64) },
      },
      true,
    ],
    ...(['sbom', 'other', 'toString'] as const).map((attachment): [string, unknown, boolean] => [
      `an attachment of kind ${attachment}`,
      {
        path: 'platform-agent/1.0.0/linux-amd64/sbom.cdx.json',
        sizeBytes: 1,
        sha256,
        custom: { attachment, program: 'platform-agent', version: '1.0.0', platform: 'linux/amd64' },
      },
      attachment === 'sbom',
    ]),
    [
      'an attachment of another version',
      {
        path: 'platform-agent/1.0.0/linux-amd64/sbom.cdx.json',
        sizeBytes: 1,
        sha256,
        custom: { attachment: 'sbom', program: 'platform-agent', version: '2.0.0', platform: 'linux/amd64' },
      },
      false,
    ],
    [
      'a patch by another name',
      { path: 'delta/x/y', sizeBytes: 1, sha256, custom: { from_sha256: 'a'.repeat(64), to_sha256: 'b'.repeat(64) } },
      false,
    ],
  ];
  for (const [name, target, isGood] of rows) {
    assert.equal(isTargetOf(target as Parameters<typeof isTargetOf>[0]), isGood, name);
  }
});

test('the server signs when it is time: a week of hours', () => {
  const served = {
    root,
    targets,
    snapshot: undefined as Buffer | undefined,
    timestamp: undefined as Buffer | undefined,
  };
  const made: string[] = [];
  for (let now = start; now <= start + 7 * day; now += hour / 2) {
    const fresh = renewed(served, online, now);
    for (const role of ['snapshot', 'timestamp'] as const) {
      if (!fresh[role]) continue;
      served[role] = fresh[role];
      made.push(role);
    }
    assert.ok(served.timestamp && served.snapshot);
    const { expires, snapshotMeta } = readTimestamp(served.timestamp).signed;
    assert.ok(Date.parse(expires) - now > 22 * hour, 'an agent that asks now has most of a day');
    snapshotMeta.verify(served.snapshot);
    assert.ok(Date.parse(readSnapshot(served.snapshot).signed.expires) - now > 3 * day);
  }
  const counts = Map.groupBy(made, (role) => role);
  assert.equal(counts.get('snapshot')?.length, 3);
  assert.ok((counts.get('timestamp')?.length ?? 0) <= 7 * 24 + 2);
  assert.equal(readTimestamp(served.timestamp!).signed.version, counts.get('timestamp')?.length);

  const newOnlineKey = key();
  assert.throws(() => renewed(served, newOnlineKey, start), { code: 'ONLINE_KEY_UNKNOWN' });
  // Let in by a new root, it signs all anew, in versions that go on.
  const next = nextRoot(root, ring, start, (roles) => ({ ...roles, online: [newOnlineKey.publicKey] }));
  const before = readTimestamp(served.timestamp!).signed.version;
  const fresh = renewed({ ...served, root: next }, newOnlineKey, start + 7 * day);
  assert.ok(fresh.snapshot && fresh.timestamp);
  assert.equal(readTimestamp(fresh.timestamp).signed.version, before + 1);
  readRoot(next).verifyDelegate('timestamp', readTimestamp(fresh.timestamp));
});

test('SHA256SUMS: programs and the root document, signed by the installer key alone', () => {
  const lines = installerList(root, targets).split('\n');
  assert.match(lines[0] ?? '', /^# targets 1, valid until 2026-05-30T00:00:00Z$/);
  assert.equal(lines[1], `${sha256}  platform-agent/1.0.0/linux-amd64/platform-agent`);
  assert.match(lines[2] ?? '', /^[0-9a-f]{64} {2}tuf\/1\.root\.json$/);
  assert.equal(
    outcome(() => checkInstallerList(root, targets, installerSignature)),
    'taken',
  );
  const next = nextRoot(root, ring, start, (roles) => roles);
  assert.match(
    outcome(() => checkInstallerList(next, targets, installerSignature)),
    /installer key/,
  );
  assert.match(
    outcome(() => checkInstallerList(root, targets, Buffer.from('?'))),
    /installer key/,
  );
  assert.throws(() => signInstallerList(root, targets, { ...ring, installer: [key('p256')] }), {
    code: 'SIGNING_KEYS_MISSING',
  });
});

test('too few keys: the error comes before anything is sent', () => {
  const code = 'SIGNING_KEYS_MISSING';
  const none = { ...ring, root: [], targets: [] };
  assert.throws(() => firstRoot({ ...ring, root: ring.root.slice(0, 1) }, 2, online.publicKey, start), { code });
  assert.throws(() => firstRoot(none, 0, online.publicKey, start), { code });
  assert.throws(() => nextRoot(root, { ...ring, root: ring.root.slice(0, 1) }, start, (roles) => roles), { code });
  assert.throws(() => nextTargets({ root, targets }, none, start), { code });
  assert.throws(() => nextTargets({ root, targets }, { ...ring, targets: [key()] }, start), { code });
  assert.deepEqual(targetsOf(nextTargets({ root, targets }, ring, start, { isRemoved: () => true }).targets), []);
});

test('keys in files: owner only, never replaced, locked by a passphrase, of the right kind', async () => {
  await using folder = await tempFolder();
  const keys = folder.file('keys');
  assert.equal((await makeKeyFolder(keys, 2)).length, 4);
  const before = await readFile(folder.file('keys', 'root-1.pem'), 'utf8');
  assert.deepEqual(await makeKeyFolder(keys, 3), ['root-3.pem']);
  assert.equal(await readFile(folder.file('keys', 'root-1.pem'), 'utf8'), before);
  assert.equal((await stat(folder.file('keys', 'targets.pem'))).mode & 0o777, 0o600);
  const found = await readKeyFolders([keys, folder.file('none')]);
  assert.deepEqual([found.root.length, found.targets.length, found.installer.length], [3, 1, 1]);
  assert.equal(new Set(found.root.map((one) => one.id)).size, 3);

  await assert.rejects(makeKeyFile(folder.file('key.pem')), { code: 'INVALID_ARGUMENT' });
  await makeKeyFolder(folder.file('locked'), 1, 'secret');
  await assert.rejects(readKeyFolders([folder.file('locked')]), /locked with a passphrase/);
  await assert.rejects(readKeyFolders([folder.file('locked')], 'wrong'), /does not open it/);
  assert.equal((await readKeyFolders([folder.file('locked')], 'secret')).root.length, 1);
  await writeFile(folder.file('keys', 'targets.pem'), makeKey('p256'));
  await assert.rejects(readKeyFolders([keys]), /targets keys are of the kind ed25519/);
  await writeFile(folder.file('keys', 'targets.pem'), 'torn');
  await assert.rejects(readKeyFolders([keys]), { code: 'SIGNING_KEY_UNREADABLE' });

  const pem = makeKey('ed25519');
  const whole = readKey(pem, 'a');
  const half = readPublicKey(whole.publicPem, 'b');
  const torn = whole.publicPem.replace(/\n.{20}/, '\n');
  assert.throws(() => readPublicKey(torn, 'b'), { code: 'SIGNING_KEY_UNREADABLE' });
  assert.deepEqual([half.id, half.publicPem], [whole.id, whole.publicPem]);
  assert.equal(keyId(half.publicKey), whole.id);
});
