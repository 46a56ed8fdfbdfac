import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import test from 'node:test';
import { ReleaseService } from '@platform/contract/gen/platform/release/v1/release_pb';
import { readRoot, readSnapshot, readTargets, readTimestamp } from '@platform/releases/documents';
import { makeKeyFolder, readKeyFolders, type KeyRing } from '@platform/releases/key-folder';
import type { PublicKey } from '@platform/releases/keys';
import {
  attachmentTarget,
  firstRoot,
  nextRoot,
  nextTargets,
  patchTarget,
  programTarget,
  signInstallerList,
} from '@platform/releases/publication';
import type { ProgramWords, Target } from '@platform/releases/targets';
import { tempFolder } from '@platform/kit/testing';
import type { Database } from '../src/database/database.ts';
import { insertRelease, listReleases, revokeRelease, setChannel } from '../src/releases/store/releases.ts';
import { namedBlobs } from '../src/blobs/store/owned-blobs.ts';
import { failure } from './failure.ts';
import { testServer, type TestServer } from './server.ts';

const hashOf = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

async function put(on: TestServer, text: string): Promise<{ bytes: Buffer; sha256: Buffer; sizeBytes: number }> {
  const bytes = Buffer.from(text);
  const answer = await fetch(`${on.url}/blobs/${hex(hashOf(bytes))}`, {
    method: 'PUT',
    body: bytes,
    headers: { authorization: `Bearer ${await on.token(on.owner)}` },
  });
  assert.ok(answer.ok);
  return { bytes, sha256: hashOf(bytes), sizeBytes: bytes.length };
}

async function newKeys(rootKeys = 3): Promise<KeyRing> {
  await using folder = await tempFolder();
  await makeKeyFolder(folder.path, rootKeys);
  return await readKeyFolders([folder.path]);
}

const words = (version: string): ProgramWords => ({ name: 'platform-server', version, platform: 'linux/amd64' });

test('signed releases: root, publication with a patch, documents as served, rotation, revocation', async () => {
  await using on = await testServer();
  const releases = await on.client(ReleaseService);
  const keys = await newKeys();
  const now = Date.now;
  const current = async () => {
    const { root, targets, onlineKey } = await releases.getMetadata({});
    return { root, targets, onlineKey: JSON.parse(onlineKey) as PublicKey };
  };
  assert.deepEqual([(await current()).root.length, (await fetch(`${on.url}/tuf/timestamp.json`)).status], [0, 404]);
  assert.equal((await fetch(`${on.url}/releases/SHA256SUMS`)).status, 404);

  const one = await put(on, 'one');
  const publish = async (
    version: string,
    file: typeof one,
    { root, more = [] }: { root?: Buffer; more?: readonly Target[] } = {},
  ) => {
    const at = await current();
    const target = programTarget(words(version), { sizeBytes: file.sizeBytes, sha256: hex(file.sha256) });
    const signed = nextTargets({ root: root ?? at.root, targets: at.targets }, keys, now(), {
      add: [target, ...more],
    });
    const { sha256, sizeBytes } = file;
    return {
      ...(root && { root }),
      ...signed,
      releases: [{ ...words(version), sha256, sizeBytes: BigInt(sizeBytes), channels: ['dev'] }],
    };
  };
  const root = firstRoot(keys, 2, (await current()).onlineKey, now());
  assert.equal(
    await failure(releases.submitMetadata({ ...(await publish('1.0.0', one, { root })), root: new Uint8Array() })),
    'FailedPrecondition METADATA_REFUSED',
  );
  const { releases: first } = await releases.submitMetadata(await publish('1.0.0', one, { root }));
  assert.deepEqual(
    first.map(({ version, target, channels }) => [version, target, channels]),
    [['1.0.0', 'platform-server/1.0.0/linux-amd64', ['dev']]],
  );

  const audited = await on.db
    .selectFrom('audit')
    .select(['subject', 'details'])
    .where('action', '=', 'sign releases')
    .execute();
  assert.deepEqual(audited, [
    {
      subject: 'platform-server 1.0.0 linux/amd64',
      details: { root: 1, targets: 1, patches: 0, channels: { 'platform-server dev': '1.0.0' } },
    },
  ]);

  // The files that agents fetch are consistent.
  const got = async (path: string) => Buffer.from(await (await fetch(`${on.url}${path}`)).arrayBuffer());
  assert.deepEqual(await got('/tuf/1.root.json'), root);
  const timestamp = readTimestamp(await got('/tuf/timestamp.json')).signed;
  const snapshot = await got(`/tuf/${timestamp.snapshotMeta.version}.snapshot.json`);
  timestamp.snapshotMeta.verify(snapshot);
  const meta = readSnapshot(snapshot).signed.meta['targets.json'];
  const targets = await got(`/tuf/${meta?.version}.targets.json`);
  meta?.verify(targets);
  readRoot(root).verifyDelegate('targets', readTargets(targets));
  const kept = await fetch(`${on.url}/tuf/timestamp.json`);
  const again = await fetch(`${on.url}/tuf/timestamp.json`, {
    headers: { 'if-none-match': kept.headers.get('etag') ?? '' },
  });
  assert.deepEqual([again.status, (await fetch(`${on.url}/tuf/2.root.json`)).status], [304, 404]);

  const sums = await got('/releases/SHA256SUMS');
  assert.match(
    sums.toString(),
    new RegExp(`^${hex(one.sha256)}  platform-server/1.0.0/linux-amd64/platform-server$`, 'm'),
  );
  assert.match(sums.toString(), new RegExp(`^${hex(hashOf(root))}  tuf/1.root.json$`, 'm'));
  const installer = createPublicKey(keys.installer[0]?.publicPem ?? '');
  assert.ok(verify('sha256', sums, installer, await got('/releases/SHA256SUMS.sig')));

  // A second version, with a patch that leads to it.
  const two = await put(on, 'two');
  const patch = await put(on, 'patch');
  const between = { from_sha256: hex(one.sha256), to_sha256: hex(two.sha256) };
  const more = [patchTarget(between, { sizeBytes: patch.sizeBytes, sha256: hex(patch.sha256) })];
  await releases.submitMetadata({
    ...(await publish('1.1.0', two, { more })),
    patches: [
      { fromSha256: one.sha256, toSha256: two.sha256, sha256: patch.sha256, sizeBytes: BigInt(patch.sizeBytes) },
    ],
  });
  assert.deepEqual(await got(`/releases/deltas/${hex(patch.sha256)}`), patch.bytes);

  // Refused as a whole: other bytes, a skipped version, a file that the targets do not list, an unknown key's
  // signature.
  const foreign = await newKeys();
  const good = await publish('1.2.0', one);
  const swapped = await publish('1.2.0', two);
  const strange = nextTargets(
    { root: firstRoot(foreign, 2, (await current()).onlineKey, now()), targets: (await current()).targets },
    foreign,
    now(),
  );
  const refused: [string, object][] = [
    ['another file', { ...good, releases: swapped.releases }],
    ['an older list', { ...good, targets: Buffer.from(targets) }],
    ['a signature of an unknown key', { ...good, ...strange }],
    ['SHA256SUMS not signed', { ...good, installerSignature: Buffer.from('no') }],
    ['a root signed by one of two', { root: nextRootBy(root, keys, 1) }],
  ];
  for (const [name, request] of refused) {
    assert.equal(await failure(releases.submitMetadata(request)), 'FailedPrecondition METADATA_REFUSED', name);
  }
  assert.equal(
    await failure(releases.publishRelease({ ...words('9.0.0'), sha256: one.sha256, sizeBytes: 3n })),
    'FailedPrecondition RELEASE_UNSIGNED',
  );
  assert.deepEqual((await releases.listReleases({ name: '' })).releases.map(({ version }) => version).toSorted(), [
    '1.0.0',
    '1.1.0',
  ]);
  // A caller that does not own the installation changes nothing, although the content is valid.
  const machine = await on.machine('m');
  for (const who of [on.runner, machine.part]) {
    const other = await on.client(ReleaseService, who);
    const calls = {
      submitMetadata: () => other.submitMetadata(good),
      publishRelease: () =>
        other.publishRelease({ ...words('1.1.0'), sha256: two.sha256, sizeBytes: BigInt(two.sizeBytes) }),
      setChannel: () => other.setChannel({ name: 'platform-server', channel: 'stable', version: '1.1.0' }),
      revokeRelease: () => other.revokeRelease({ name: 'platform-server', version: '1.0.0' }),
    };
    for (const [name, call] of Object.entries(calls))
      assert.equal(await failure(call()), 'PermissionDenied PERMISSION_DENIED', name);
  }

  // The keys of the previous root authorize the next root.
  const next = nextRoot(root, keys, now(), (roles) => roles);
  assert.equal(await failure(releases.submitMetadata({ root: next })), 'FailedPrecondition METADATA_REFUSED');
  const installerSignature = signInstallerList(next, (await current()).targets, keys);
  await releases.submitMetadata({ root: next, installerSignature });
  assert.deepEqual(await got('/tuf/2.root.json'), next);

  // A release cannot be withdrawn while a channel points to it or the targets list it; then machines no longer see it.
  const old = { name: 'platform-server', version: '1.0.0' };
  assert.equal(
    await failure(releases.revokeRelease({ ...old, version: '1.1.0' })),
    'FailedPrecondition RELEASE_IN_USE',
  );
  assert.equal(await failure(releases.revokeRelease(old)), 'FailedPrecondition METADATA_REFUSED');
  await releases.submitMetadata(
    nextTargets(await current(), keys, now(), { isRemoved: ({ path }) => path.startsWith('platform-server/1.0.0/') }),
  );
  await releases.revokeRelease(old);
  assert.equal((await fetch(first[0]?.url ?? '')).status, 404);
  assert.equal(await failure(releases.setChannel({ ...old, channel: 'dev' })), 'NotFound RELEASE_NOT_FOUND');
});

test('attachments: signed, served, checked against their program, removed with it', async () => {
  await using on = await testServer();
  const releases = await on.client(ReleaseService);
  const keys = await newKeys(1);
  const [program, licenses] = [await put(on, 'program'), await put(on, 'licenses')];
  const agent = { name: 'platform-agent', version: '1.0.0', platform: 'linux/amd64' };
  const sbomOf = (sha256: Buffer, version = '1.0.0') =>
    put(
      on,
      JSON.stringify({
        bomFormat: 'CycloneDX',
        metadata: { component: { name: agent.name, version, hashes: [{ alg: 'SHA-256', content: hex(sha256) }] } },
      }),
    );
  const sbom = await sbomOf(program.sha256);
  type Stored = typeof sbom;
  const current = async () => {
    const { root, targets, onlineKey } = await releases.getMetadata({});
    return { root, targets, onlineKey: JSON.parse(onlineKey) as PublicKey };
  };
  const size = ({ sizeBytes, sha256 }: Stored) => ({ sizeBytes, sha256: hex(sha256) });
  const attachment = (kind: 'sbom' | 'licenses', file: Stored, of = agent) => ({
    target: attachmentTarget(
      { attachment: kind, program: of.name, version: of.version, platform: of.platform },
      size(file),
    ),
    message: { ...of, kind: kind as string, sha256: file.sha256, sizeBytes: BigInt(file.sizeBytes) },
  });
  const submission = async (attachments: ReturnType<typeof attachment>[], more: object = {}) => {
    const at = await current();
    const root = at.root.length > 0 ? undefined : firstRoot(keys, 1, at.onlineKey, Date.now());
    const add = [programTarget(agent, size(program)), ...attachments.map(({ target }) => target)];
    return {
      ...(root && { root }),
      ...nextTargets({ root: root ?? at.root, targets: at.targets }, keys, Date.now(), { add }),
      releases: [{ ...agent, sha256: program.sha256, sizeBytes: BigInt(program.sizeBytes) }],
      attachments: attachments.map(({ message }) => message),
      ...more,
    };
  };
  const url = `${on.url}/releases/platform-agent/1.0.0/linux-amd64`;
  const status = async (file: string): Promise<number> => (await fetch(`${url}/${file}`)).status;

  // Refused as a whole.
  const otherFile = attachment('sbom', await sbomOf(licenses.sha256));
  const otherVersion = attachment('sbom', await sbomOf(program.sha256, '2.0.0'));
  const [ofIt, withIt] = [attachment('sbom', sbom), attachment('licenses', licenses)];
  const nowhere = attachment('licenses', licenses, { ...agent, version: '3.0.0' });
  const refused: [name: string, request: object, code: string][] = [
    ['another file', await submission([otherFile]), 'FailedPrecondition RELEASE_ATTACHMENT_REFUSED'],
    ['another version', await submission([otherVersion]), 'FailedPrecondition RELEASE_ATTACHMENT_REFUSED'],
    ['no JSON', await submission([attachment('sbom', licenses)]), 'FailedPrecondition RELEASE_ATTACHMENT_REFUSED'],
    ['not listed', await submission([], { attachments: [withIt.message] }), 'FailedPrecondition METADATA_REFUSED'],
    [
      'other bytes than listed',
      await submission([ofIt], { attachments: [{ ...ofIt.message, sha256: program.sha256, sizeBytes: 7n }] }),
      'FailedPrecondition METADATA_REFUSED',
    ],
    ['no such release', await submission([nowhere]), 'NotFound RELEASE_NOT_FOUND'],
    [
      'an unknown kind',
      await submission([withIt], { attachments: [{ ...withIt.message, kind: 'readme' }] }),
      'InvalidArgument INVALID_ARGUMENT',
    ],
    [
      'too large',
      await submission([withIt], { attachments: [{ ...withIt.message, sizeBytes: 5n << 20n }] }),
      'InvalidArgument INVALID_ARGUMENT',
    ],
    [
      'not uploaded',
      await submission([withIt], { attachments: [{ ...withIt.message, sha256: hashOf(Buffer.from('?')) }] }),
      'FailedPrecondition BLOB_MISSING',
    ],
  ];
  for (const [name, request, code] of refused)
    assert.equal(await failure(releases.submitMetadata(request)), code, name);
  assert.deepEqual((await releases.listReleases({ name: '' })).releases, []);

  // A release without attachments is valid, too; they may follow.
  await releases.submitMetadata(await submission([]));
  assert.deepEqual([await status('sbom.cdx.json'), await status('platform-agent')], [404, 200]);
  const { releases: stored } = await releases.submitMetadata(await submission([ofIt, withIt]));
  assert.deepEqual(
    stored[0]?.attachments.map(({ kind, url: at, sha256 }) => [kind, at, hex(sha256)]),
    [
      ['sbom', `${url}/sbom.cdx.json`, hex(sbom.sha256)],
      ['licenses', `${url}/licenses.txt`, hex(licenses.sha256)],
    ],
  );
  const served = await fetch(`${url}/sbom.cdx.json`);
  assert.equal(served.headers.get('content-type'), 'application/vnd.cyclonedx+json');
  assert.equal(await served.text(), sbom.bytes.toString());
  assert.equal(await (await fetch(`${url}/licenses.txt`)).text(), 'licenses');
  const sums = await (await fetch(`${on.url}/releases/SHA256SUMS`)).text();
  assert.match(sums, new RegExp(`^${hex(sbom.sha256)}  platform-agent/1.0.0/linux-amd64/sbom.cdx.json$`, 'm'));
  // Sweeps keep the files.
  assert.equal((await namedBlobs(on.db, [hex(sbom.sha256), hex(licenses.sha256)])).size, 2);

  // The signed targets decide what is served.
  await releases.submitMetadata(
    nextTargets(await current(), keys, Date.now(), { isRemoved: ({ path }) => path.endsWith('/licenses.txt') }),
  );
  assert.deepEqual([await status('sbom.cdx.json'), await status('licenses.txt')], [200, 404]);
  await releases.submitMetadata(nextTargets(await current(), keys, Date.now(), { isRemoved: () => true }));
  await releases.revokeRelease({ name: agent.name, version: agent.version });
  assert.deepEqual([await status('sbom.cdx.json'), await status('platform-agent')], [404, 404]);
});

test('one operator withdraws a version while another points a channel at it: the second gets the conflict', async () => {
  await using on = await testServer();
  const name = 'platform-server';
  for (const version of ['1.0.0', '1.1.0'])
    await insertRelease(on.db, { ...words(version), sha256: hashOf(Buffer.from(version)), sizeBytes: 1 });
  const after = async (first: (trx: Database) => Promise<void>, second: (trx: Database) => Promise<void>) => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const { promise: isFirst, resolve: firstIsThere } = Promise.withResolvers<void>();
    const early = on.db.transaction().execute(async (trx) => {
      await first(trx);
      firstIsThere();
      await held;
    });
    await isFirst;
    const late = failure(on.db.transaction().execute(second));
    for (let i = 0; i < 3; i++) await listReleases(on.db, name); // time enough for the second, were it not blocked
    letGo();
    await early;
    return late;
  };
  const revoke = (version: string) => (trx: Database) => revokeRelease(trx, name, version);
  const promote = (version: string) => (trx: Database) => setChannel(trx, name, 'stable', version);
  assert.match(await after(promote('1.0.0'), revoke('1.0.0')), /RELEASE_IN_USE/);
  assert.match(await after(revoke('1.1.0'), promote('1.1.0')), /RELEASE_NOT_FOUND/);
  assert.deepEqual(
    (await listReleases(on.db, name)).map(({ version, channels }) => [version, channels]),
    [['1.0.0', ['stable']]],
  );
});

/** Signed by the first `count` root keys alone. */
function nextRootBy(root: Uint8Array, keys: KeyRing, count: number): Buffer {
  const document = readRoot(nextRoot(root, keys, Date.now(), (roles) => roles));
  const kept = new Set(keys.root.slice(0, count).map((key) => key.id));
  for (const id of Object.keys(document.signatures)) if (!kept.has(id)) delete document.signatures[id];
  return Buffer.from(JSON.stringify(document.toJSON()));
}
