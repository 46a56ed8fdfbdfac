// Several publishers at once: a publication that another one overtakes is signed again on top of it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlatformClient } from '@platform/client';
import { tempFolder } from '@platform/kit/testing';
import { checkRoot, checkTargets } from '@platform/releases/checks';
import { readTargets } from '@platform/releases/documents';
import { makeKeyFolder, readKeyFolders } from '@platform/releases/key-folder';
import { makeKey, readKey } from '@platform/releases/keys';
import { submitSigned } from '../src/releases/sign.ts';

const now = Date.parse('2026-01-01');
const empty = new Uint8Array();
type Documents = { root: Uint8Array; targets: Uint8Array };

/** Stores documents under the server's rules. `reads` replaces what the first reads return. */
function releaseServer(reads: ((stored: Documents) => Documents)[] = []) {
  const onlineKey = JSON.stringify(readKey(makeKey('ed25519'), 'online').publicKey);
  const stored: Documents = { root: empty, targets: empty };
  const known = (bytes: Uint8Array): Uint8Array | undefined => (bytes.length > 0 ? bytes : undefined);
  const releaseClient = {
    getMetadata: () => Promise.resolve({ ...(reads.shift() ?? ((all) => all))({ ...stored }), onlineKey }),
    async submitMetadata({ root = empty, targets = empty }: Partial<Documents>) {
      await Promise.resolve();
      if (root.length > 0) checkRoot(root, known(stored.root), now);
      checkTargets(known(root) ?? stored.root, targets, known(stored.targets), now);
      Object.assign(stored, { ...(root.length > 0 && { root }), targets });
      return { releases: [] };
    },
  };
  return { stored, client: { releaseClient } as unknown as PlatformClient };
}

const program = (version: string) => ({
  name: 'platform-agent',
  version,
  platform: 'linux/amd64',
  channels: [],
  sizeBytes: 1,
  sha256: '00'.repeat(32),
});

const overtaken: [title: string, read: (stored: Documents) => Documents][] = [
  ['before the first root document', () => ({ root: empty, targets: empty })],
  ['between the reads of root and targets', ({ targets }) => ({ root: empty, targets })],
  ['before the first targets document', ({ root }) => ({ root, targets: empty })],
];
for (const [title, read] of overtaken) {
  test(`another publisher is faster, ${title}: both versions are published`, async () => {
    await using folder = await tempFolder();
    await makeKeyFolder(folder.path, 1);
    const ring = await readKeyFolders([folder.path]);
    const server = releaseServer([(stored) => stored, read]);
    for (const version of ['1.0.0', '1.1.0']) {
      await submitSigned(server.client, ring, { programs: [program(version)] }, { threshold: 1, now });
    }
    assert.deepEqual(Object.keys(readTargets(server.stored.targets).signed.targets).toSorted(), [
      'platform-agent/1.0.0/linux-amd64',
      'platform-agent/1.1.0/linux-amd64',
    ]);
  });
}
