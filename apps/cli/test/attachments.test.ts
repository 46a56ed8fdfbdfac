// A downloaded SBOM is checked against the signed list of files.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { tempFolder } from '@platform/kit/testing';
import { makeKeyFolder, readKeyFolders, type KeyRing } from '@platform/releases/key-folder';
import { makeKey, readKey } from '@platform/releases/keys';
import { attachmentTarget, firstRoot, nextTargets, programTarget } from '@platform/releases/publication';
import { checkAttachment, readAttachments } from '../src/releases/attachments.ts';

const now = Date.parse('2026-01-01');
const words = { name: 'platform-agent', version: '1.0.0', platform: 'linux/amd64' };
const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const program = Buffer.from('program');
const sbomOf = (sha256: string, more: object = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      bomFormat: 'CycloneDX',
      metadata: { component: { ...words, hashes: [{ alg: 'SHA-256', content: sha256 }] } },
      ...more,
    }),
  );
const sbom = sbomOf(sha256Of(program));
const file = (bytes: Buffer) => ({ sizeBytes: bytes.length, sha256: sha256Of(bytes) });

async function ring(): Promise<KeyRing> {
  await using folder = await tempFolder();
  await makeKeyFolder(folder.path, 1);
  return await readKeyFolders([folder.path]);
}

/** A list of files that names the program and these bytes as its SBOM, signed by the keys of `root`. */
function listOf(keys: KeyRing, root: Buffer, bytes: Buffer): Buffer {
  const { name, version, platform } = words;
  const add = [
    programTarget(words, file(program)),
    attachmentTarget({ attachment: 'sbom', program: name, version, platform }, file(bytes)),
  ];
  return nextTargets({ root, targets: new Uint8Array() }, keys, now, { add }).targets;
}

test('a manipulated SBOM, list or key is refused', async () => {
  const [keys, foreign] = [await ring(), await ring()];
  const online = readKey(makeKey('ed25519'), 'online').publicKey;
  const [root, foreignRoot] = [firstRoot(keys, 1, online, now), firstRoot(foreign, 1, online, now)];
  const good = { root, targets: listOf(keys, root, sbom) };
  const other = sbomOf(sha256Of(Buffer.from('another program')));
  const changed = sbomOf(sha256Of(program), { components: [] });
  const edited = Buffer.from(good.targets.toString().replace(sha256Of(sbom), sha256Of(changed)));
  const rows: [name: string, bytes: Buffer, trust: typeof good, problem: RegExp | undefined][] = [
    ['as published', sbom, good, undefined],
    ['with a component removed', changed, good, /the signed list of files names/],
    ['with the list changed to match', changed, { root, targets: edited }, /not signed by the keys/],
    ['with a list of other keys', changed, { root, targets: listOf(foreign, foreignRoot, changed) }, /not signed/],
    ['of another program, listed', other, { root, targets: listOf(keys, root, other) }, /describes a file with sha256/],
  ];
  for (const [name, bytes, trust, problem] of rows) {
    const check = (): void => checkAttachment(bytes, { kind: 'sbom', ...words }, trust);
    if (problem === undefined) check();
    else
      assert.throws(check, (error) => {
        assert.ok(error instanceof PlatformError && error.code === 'RELEASE_ATTACHMENT_REFUSED', name);
        assert.match(error.message, problem, name);
        return true;
      });
  }
  assert.throws(() => checkAttachment(sbom, { kind: 'licenses', ...words }, good), /does not name it/);
});

test('a publisher takes the files beside the program, and no file of another program', async () => {
  await using folder = await tempFolder();
  const of = { ...words, file: folder.file('agent'), sha256: sha256Of(program) };
  assert.deepEqual(await readAttachments(of), []);
  await writeFile(folder.file('agent.licenses.txt'), 'licenses');
  await writeFile(folder.file('agent.sbom.cdx.json'), sbom);
  for (const at of [of, { ...of, file: folder.file('agent.gz') }]) {
    const attachments = await readAttachments(at);
    assert.deepEqual(
      attachments.map(({ kind, bytes }) => [kind, bytes.toString()]),
      [
        ['sbom', sbom.toString()],
        ['licenses', 'licenses'],
      ],
    );
  }
  await assert.rejects(readAttachments({ ...of, sha256: 'cd'.repeat(32) }), /the program has cdcd/);
  await writeFile(folder.file('agent.licenses.txt'), Buffer.alloc((4 << 20) + 1));
  await assert.rejects(readAttachments(of), /it has 4194305 bytes, the limit is 4194304/);
});
