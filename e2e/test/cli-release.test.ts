// Releases from the command line: keys, signed publication with patches, channels, withdrawal, and rotation of root
// keys.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { applyPatch } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { readRoot, readTargets, rolesOf, targetsOf } from '@platform/releases/documents';
import { startCloud } from '../src/cloud-process.ts';
import { runCli } from '../src/up-process.ts';

type Json = Record<string, unknown>;
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function world() {
  const cloud = await startCloud();
  const folder = await tempFolder();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const cli = (...args: string[]) => runCli({ ...env, PLATFORM_RELEASE_KEYS: folder.file('keys') }, ...args);
  return {
    folder,
    cli,
    /** Returns its JSON output. */
    async json(...args: string[]): Promise<Json> {
      const { code, stdout, stderr } = await cli(...args, '--json');
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
      return JSON.parse(stdout) as Json;
    },
    /** Returns the code of its error. */
    async failure(...args: string[]): Promise<string> {
      const { code, stderr } = await cli(...args, '--json');
      assert.notEqual(code, 0, args.join(' '));
      return (JSON.parse(stderr.trim().split('\n').at(-1) ?? '') as { error: { code: string } }).error.code;
    },
    async get(path: string): Promise<Buffer> {
      const answer = await fetch(`${ready.url}${path}`);
      assert.equal(answer.status, 200, path);
      return Buffer.from(await answer.arrayBuffer());
    },
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await cloud[Symbol.asyncDispose]();
    },
  };
}

const body = randomBytes(200_000);
/** Imitates a build: code, and a note at the end. */
const program = (version: string, platform = 'linux/amd64'): Buffer =>
  Buffer.concat([
    Buffer.from(`#!/bin/sh\nexit 0 # ${version} ${platform}\n`),
    body,
    Buffer.from(`\nPLATFORM-PROGRAM:${JSON.stringify({ name: 'platform-agent', version, platform })}\n`),
  ]);

test('a release: keys, publication, patch, promotion, withdrawal', async () => {
  await using w = await world();
  const file = async (version: string): Promise<string> => {
    await writeFile(w.folder.file(`agent-${version}`), program(version));
    return w.folder.file(`agent-${version}`);
  };
  assert.equal(await w.failure('release', 'publish', await file('1.0.0')), 'SIGNING_KEYS_MISSING');
  const { made } = await w.json('release', 'keys', 'init', w.folder.file('keys'));
  assert.deepEqual(made, ['root-1.pem', 'root-2.pem', 'root-3.pem', 'targets.pem', 'installer.pem']);
  for (const name of await readdir(w.folder.file('keys')))
    assert.equal((await stat(w.folder.file('keys', name))).mode & 0o777, 0o600);
  assert.deepEqual((await w.json('release', 'keys', 'init', w.folder.file('keys')))['made'], []);

  // An SBOM of other bytes beside the program: nothing is published.
  const sbomOf = (sha256: string): string =>
    JSON.stringify({
      bomFormat: 'CycloneDX',
      metadata: {
        component: { name: 'platform-agent', version: '1.0.0', hashes: [{ alg: 'SHA-256', content: sha256 }] },
      },
    });
  const beside = `${await file('1.0.0')}.sbom.cdx.json`;
  await writeFile(beside, sbomOf('00'.repeat(32)));
  assert.equal(await w.failure('release', 'publish', await file('1.0.0')), 'RELEASE_ATTACHMENT_REFUSED');
  const sbom = sbomOf(sha256Of(program('1.0.0')));
  await writeFile(beside, sbom);
  await writeFile(w.folder.file('agent-1.0.0.licenses.txt'), 'the licenses');

  const { releases } = await w.json('release', 'publish', await file('1.0.0'), '--channel', 'dev', 'stable');
  const [first] = releases as Json[];
  assert.deepEqual(
    [first?.['target'], first?.['channels'], first?.['signed']],
    ['platform-agent/1.0.0/linux-amd64', ['dev', 'stable'], true],
  );
  assert.equal(rolesOf(await w.get('/tuf/1.root.json')).root.threshold, 2, 'more than half of three');

  // SBOM and licenses are signed with it, and written after a check against the signed list.
  const place = 'platform-agent/1.0.0/linux-amd64';
  assert.deepEqual(
    ((first?.['attachments'] ?? []) as Json[]).map(({ kind, url }) => [kind, new URL(String(url)).pathname]),
    [
      ['sbom', `/releases/${place}/sbom.cdx.json`],
      ['licenses', `/releases/${place}/licenses.txt`],
    ],
  );
  assert.equal((await w.get(`/releases/${place}/sbom.cdx.json`)).toString(), sbom);
  const signed = targetsOf(await w.get('/tuf/1.targets.json'));
  assert.equal(signed.find(({ path: name }) => name === `${place}/sbom.cdx.json`)?.sha256, sha256Of(Buffer.from(sbom)));
  const shown = await w.json('release', 'show', 'platform-agent', '1.0.0', '--save', w.folder.file('saved'));
  const saved = shown['saved'] as string[];
  assert.deepEqual(saved, [
    w.folder.file('saved', 'platform-agent-1.0.0-linux-amd64.sbom.cdx.json'),
    w.folder.file('saved', 'platform-agent-1.0.0-linux-amd64.licenses.txt'),
  ]);
  assert.equal(await readFile(saved[0] ?? '', 'utf8'), sbom);
  assert.match(
    (await w.cli('release', 'show', 'platform-agent', '1.0.0')).stdout,
    /linux\/amd64: .*\n  sbom: http.*sbom\.cdx\.json\n  licenses: http/,
  );
  assert.equal(await w.failure('release', 'show', 'platform-agent', '7.0.0'), 'RELEASE_NOT_FOUND');

  // The next version: machines are offered a patch, and it produces exactly the same file.
  assert.equal((await w.json('release', 'publish', await file('1.1.0'), '--channel', 'dev'))['patches'], 1);
  const targets = targetsOf(await w.get('/tuf/2.targets.json'));
  const [before, after] = [program('1.0.0'), program('1.1.0')];
  const path = `delta/${sha256Of(before).slice(0, 12)}/${sha256Of(after).slice(0, 12)}`;
  const listed = targets.find((one) => one.path === path);
  assert.ok(listed && listed.sizeBytes < 300, `a patch of ${listed?.sizeBytes} bytes`);
  const patch = await w.get(`/releases/deltas/${listed.sha256}`);
  assert.equal(sha256Of(patch), listed.sha256);
  const parts: Buffer[] = [];
  await applyPatch({
    patch: (async function* () {
      yield patch;
    })(),
    source: (at, length) => Promise.resolve(before.subarray(at, at + length)),
    write: (bytes) => Promise.resolve(void parts.push(Buffer.from(bytes))),
    limitBytes: after.length,
  });
  assert.ok(Buffer.concat(parts).equals(after));

  // The same version with other bytes, another program's file, a file without a note.
  await writeFile(w.folder.file('other'), Buffer.concat([Buffer.from('x'), program('1.1.0')]));
  assert.equal(await w.failure('release', 'publish', w.folder.file('other')), 'RELEASE_EXISTS');
  await writeFile(w.folder.file('silent'), 'words');
  assert.equal(await w.failure('release', 'publish', w.folder.file('silent')), 'INVALID_ARGUMENT');

  // Missing files, files with other content, and invalid command lines; also with JSON output.
  assert.equal(await w.failure('release', 'publish', w.folder.file('nowhere')), 'FILE_MISSING');
  assert.match(
    (await w.cli('release', 'publish', w.folder.file('nowhere'))).stderr,
    /nowhere does not exist\.\nCheck the path/,
  );
  assert.equal(await w.failure('release', 'sign-root', w.folder.file('silent')), 'INVALID_ARGUMENT');
  assert.equal(await w.failure('release', 'submit-root', w.folder.file('silent')), 'INVALID_ARGUMENT');
  for (const words of [['promote', 'platform-agent'], ['promote', 'a', 'b', 'c', 'd'], ['nosuch'], []])
    assert.equal(await w.failure('release', ...words), 'USAGE', words.join(' '));

  // Refused before any upload.
  const wrong = [
    ['--channel', 'nightly'],
    ['--threshold', 'two'],
    ['--threshold', '0'],
  ];
  for (const flags of wrong)
    assert.equal(
      await w.failure('release', 'publish', await file('1.2.0'), ...flags),
      'INVALID_ARGUMENT',
      flags.join(),
    );
  assert.equal(await w.failure('release', 'promote', 'platform-agent', '1.1.0', 'nightly'), 'INVALID_ARGUMENT');
  assert.equal(await w.failure('release', 'list', '--name', 'agent'), 'INVALID_ARGUMENT');

  await w.json('release', 'promote', 'platform-agent', '1.1.0', 'stable');
  assert.equal(await w.failure('release', 'promote', 'platform-agent', '9.9.9', 'stable'), 'RELEASE_NOT_FOUND');
  assert.equal(await w.failure('release', 'revoke', 'platform-agent', '1.1.0', '--yes'), 'RELEASE_IN_USE');
  await w.json('release', 'revoke', 'platform-agent', '1.0.0', '--yes');
  const rows = (await w.json('release', 'list')) as unknown as Json[];
  assert.deepEqual(
    rows.map((one) => [one['version'], one['channels'], one['signed'], one['revoked']]),
    [
      ['1.1.0', ['dev', 'stable'], true, false],
      ['1.0.0', [], false, true],
    ],
  );
  assert.deepEqual(
    targetsOf(await w.get('/tuf/3.targets.json')).map((one) => one.path),
    ['platform-agent/1.1.0/linux-amd64'],
    'its patch went with it',
  );
  assert.deepEqual((await w.json('release', 'sign'))['signed'], ['targets']);
  const { stdout } = await w.cli('release', 'list');
  assert.match(stdout, /platform-agent +1\.1\.0 +linux\/amd64 +dev, stable +signed/);
  assert.match(stdout, /1\.0\.0 .*revoked/);
});

test('two publishers at the same moment: both versions are there, signed', async () => {
  await using w = await world();
  await w.json('release', 'keys', 'init', w.folder.file('keys'), '--root-keys', '1');
  const versions = ['1.0.0', '1.1.0', '1.2.0'];
  await Promise.all(
    versions.map(async (version) => {
      await writeFile(w.folder.file(version), program(version));
      await w.json('release', 'publish', w.folder.file(version), '--no-patches');
    }),
  );
  const rows = (await w.json('release', 'list')) as unknown as Json[];
  assert.deepEqual(rows.map((one) => `${String(one['version'])} ${String(one['signed'])}`).toSorted(), [
    '1.0.0 true',
    '1.1.0 true',
    '1.2.0 true',
  ]);
});

test('root keys change hands: one holder, several holders, too few of them', async () => {
  await using w = await world();
  await w.json('release', 'keys', 'init', w.folder.file('keys'));
  await writeFile(w.folder.file('agent'), program('1.0.0'));
  await w.json('release', 'publish', w.folder.file('agent'));
  const ids = async (): Promise<string[]> =>
    ((await w.json('release', 'keys', 'list'))['keys'] as Json[])
      .filter((one) => one['role'] === 'root' && one['trusted'] === true)
      .map((one) => String(one['id']));

  // The holder of all keys replaces one.
  await mkdir(w.folder.file('new'));
  await w.json('release', 'keys', 'make', w.folder.file('new', 'root-4.pem'));
  const [lost = ''] = await ids();
  const add = ['--add', w.folder.file('new', 'root-4.pem')];
  await w.json('release', 'rotate-root', ...add, '--remove', lost.slice(0, 12));
  const second = readRoot(await w.get('/tuf/2.root.json'));
  assert.equal(second.signed.version, 2);
  assert.ok(!(await ids()).includes(lost));
  readRoot(await w.get('/tuf/1.root.json')).verifyDelegate('root', second);
  second.verifyDelegate('root', second);

  // Separate keys: a document circulates until enough holders have signed it; the new key signs the list at once.
  const move = async (name: string, from: string, to: string): Promise<void> => {
    await mkdir(w.folder.file(to), { recursive: true });
    await rename(w.folder.file(from, name), w.folder.file(to, name));
  };
  await move('root-2.pem', 'keys', 'home');
  await move('root-3.pem', 'keys', 'office');
  await w.json('release', 'keys', 'make', w.folder.file('office', 'targets.pem'));
  const draft = w.folder.file('root.json');
  const rotate = ['release', 'rotate-root', '--targets', w.folder.file('office', 'targets.pem')];
  const office = ['--keys', w.folder.file('office'), w.folder.file('keys')];
  assert.equal(await w.failure(...rotate, ...office), 'METADATA_REFUSED', 'one of two');
  await w.json(...rotate, '--out', draft, '--keys', w.folder.file('home'));
  assert.equal(await w.failure('release', 'submit-root', draft, ...office), 'METADATA_REFUSED', 'the other of two');
  assert.equal((await w.json('release', 'sign-root', draft, '--keys', w.folder.file('office')))['signatures'], 2);
  await w.json('release', 'submit-root', draft, ...office);
  const third = readRoot(await w.get('/tuf/3.root.json'));
  third.verifyDelegate('targets', readTargets(await w.get('/tuf/2.targets.json')));

  // The old key of the list is no longer accepted.
  await writeFile(w.folder.file('agent2'), program('1.1.0'));
  assert.equal(await w.failure('release', 'publish', w.folder.file('agent2')), 'SIGNING_KEYS_MISSING');
  await w.json('release', 'publish', w.folder.file('agent2'), ...office);
});

test('locked keys open with their passphrase alone', async () => {
  await using w = await world();
  const env = { PLATFORM_RELEASE_PASSPHRASE: 'correct horse battery staple', PLATFORM_URL: 'http://127.0.0.1:1' };
  const folder = w.folder.file('keys');
  assert.equal((await runCli(env, 'release', 'keys', 'init', folder, '--root-keys', '1')).code, 0);
  assert.match(await readFile(w.folder.file('keys', 'targets.pem'), 'utf8'), /BEGIN ENCRYPTED PRIVATE KEY/);
  await chmod(folder, 0o700);
  assert.equal(await w.failure('release', 'keys', 'list'), 'SIGNING_KEY_UNREADABLE');
});
