import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { tempFolder } from '@platform/kit/testing';
import { signatureOf, signSums, sumsOf } from '@platform/releases/archive-signature';
import { makeKey, readPublicKey } from '@platform/releases/keys';
import { keyToPin, proveArchive, readTrust } from './archive-trust.ts';

const refused = (code: string, problem: RegExp) => (error: unknown) =>
  error instanceof PlatformError && error.code === code && problem.test(error.message);
const publicOf = (pem: string): string => readPublicKey(pem, 'test').publicPem;

/** Signs as `npm run build:server -- --sign-key` does. */
async function sign(file: string, bytes: string, pem: string): Promise<void> {
  const sums = `${createHash('sha256').update(bytes).digest('hex')}  archive.tar.gz\n`;
  await writeFile(file, bytes);
  await writeFile(sumsOf(file), sums);
  await writeFile(signatureOf(file), signSums(sums, { pem, name: 'test', passphrase: undefined }).signature);
}

test('an archive is unpacked only if the pinned key, or one that the user names, signed these bytes', async (t) => {
  await using folder = await tempFolder();
  const file = folder.file('archive.tar.gz');
  const [own, other] = [makeKey('ed25519'), makeKey('ed25519')];
  const [pinned, foreign] = [publicOf(own), publicOf(other)];
  await sign(file, 'version 2', own);
  const none = { pinned: undefined, trust: undefined };

  await t.test('signed by the pinned key', async () => {
    assert.equal(await proveArchive(file, { pinned, trust: undefined }), pinned);
  });
  await t.test('the key of --trust replaces the pinned one', async () => {
    await writeFile(folder.file('key.pem'), pinned);
    const trust = await readTrust(folder.file('key.pem'));
    assert.equal(await proveArchive(file, { pinned: foreign, trust }), pinned);
    assert.equal(await proveArchive(file, { ...none, trust }), pinned);
  });
  await t.test('signed by another key', async () => {
    await assert.rejects(
      proveArchive(file, { pinned: foreign, trust: undefined }),
      refused('ARCHIVE_UNTRUSTED', /its signature is not of the pinned key \(sha256 [0-9a-f]{64}\)/),
    );
    await assert.rejects(
      proveArchive(file, { pinned, trust: { pem: foreign } }),
      refused('ARCHIVE_UNTRUSTED', /not of the given key/),
    );
  });
  await t.test('no key is pinned', () =>
    assert.rejects(proveArchive(file, none), refused('ARCHIVE_UNTRUSTED', /no key is pinned/)),
  );
  await t.test('other bytes than those that were signed', async () => {
    await writeFile(folder.file('changed'), 'version 3');
    const of = { pinned, trust: undefined, copy: folder.file('changed') };
    await assert.rejects(
      proveArchive(file, of),
      refused('ARCHIVE_UNUSABLE', /its sha256 is [0-9a-f]{64}, and that of/),
    );
  });
  await t.test('a sum that was written anew with the bytes', async () => {
    const sums = `${createHash('sha256').update('version 3').digest('hex')}  archive.tar.gz\n`;
    await rename(sumsOf(file), folder.file('sums'));
    await writeFile(sumsOf(file), sums);
    const of = { pinned, trust: undefined, copy: folder.file('changed') };
    await assert.rejects(
      proveArchive(file, of),
      refused('ARCHIVE_UNTRUSTED', /its signature is not of the pinned key/),
    );
  });
  await t.test('not signed', async () => {
    await rm(signatureOf(file));
    await assert.rejects(
      proveArchive(file, { pinned, trust: undefined }),
      refused('ARCHIVE_UNTRUSTED', /archive\.tar\.gz\.sha256\.sig is not beside it/),
    );
    await assert.rejects(proveArchive(file, none), refused('ARCHIVE_UNTRUSTED', /is not beside it/));
    assert.equal(await proveArchive(file, { pinned, trust: await readTrust('unsigned') }), undefined);
  });
  await t.test('a key that signs no archives', async () => {
    await writeFile(folder.file('ec.pem'), publicOf(makeKey('p256')));
    await assert.rejects(readTrust(folder.file('ec.pem')), refused('SIGNING_KEY_UNREADABLE', /Ed25519/));
    await assert.rejects(readTrust(folder.file('none.pem')), refused('SIGNING_KEY_UNREADABLE', /cannot be read/));
  });
});

const [a, b] = [publicOf(makeKey('ed25519')), publicOf(makeKey('ed25519'))];
const pins: [string, Parameters<typeof keyToPin>[1], string | undefined | RegExp][] = [
  ['the first installation pins the key of its archive', { signer: a, pinned: undefined, trust: undefined }, a],
  ['the same key stays', { signer: a, pinned: a, trust: undefined }, a],
  ['an unsigned first installation pins none', { signer: undefined, pinned: undefined, trust: undefined }, undefined],
  ['another key is refused', { signer: b, pinned: a, trust: undefined }, /it names the key [0-9a-f]{64}, not/],
  [
    'an unsigned archive is refused',
    { signer: undefined, pinned: a, trust: undefined },
    /not signed, and the installed/,
  ],
  ['another key that the user names is pinned', { signer: b, pinned: a, trust: { pem: b } }, b],
  ['a key that the archive does not name is refused', { signer: b, pinned: b, trust: { pem: a } }, /it names the key/],
  ['the key of an archive that was signed later', { signer: undefined, pinned: undefined, trust: { pem: a } }, a],
  ['the user accepts an unsigned archive', { signer: undefined, pinned: a, trust: 'unsigned' }, undefined],
];
for (const [name, of, wanted] of pins)
  test(`the key to pin: ${name}`, () => {
    if (wanted instanceof RegExp) assert.throws(() => keyToPin('folder', of), refused('ARCHIVE_UNTRUSTED', wanted));
    else assert.equal(keyToPin('folder', of), wanted);
  });
