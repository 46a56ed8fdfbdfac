// The folder of captured images was copied, or put back. What the management server does with an image that comes twice:
// apps/cloud/test/copied-state.test.ts.
import assert from 'node:assert/strict';
import { cp, rm } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { CaptureSpool } from '../src/captures/spool.ts';

const about = { format: 'png', camera: 'cam', taken_ms: 1, tags: [], dataset_ids: [] } as const;

/** What a machine server uploads from a folder: the image that waited there, and one that it takes at the same time. */
async function uploaded(folder: string): Promise<{ waited: string[]; own: string[] }> {
  const spool = new CaptureSpool();
  const waited = await spool.waiting(folder);
  const { file_name: own } = await spool.add(folder, Buffer.from(folder), about);
  for (const capture of await spool.waiting(folder)) {
    assert.ok((await capture.read()).length > 0);
    await spool.done(capture);
  }
  assert.deepEqual(await spool.waiting(folder), []);
  return { waited: waited.map(({ record }) => record.file_name), own: [own] };
}

for (const [what, isPutBack] of [
  ['started twice', false],
  ['put back', true],
] as const)
  test(`captures, ${what}: what waited is uploaded under its name, and no other image gets it`, async () => {
    await using folder = await tempFolder();
    const [first, copy] = [folder.file('first'), folder.file('copy')];
    const { file_name: name } = await new CaptureSpool().add(first, Buffer.from('waits'), about);
    await cp(first, copy, { recursive: true });
    const before = await uploaded(first);
    if (isPutBack) {
      await rm(first, { recursive: true });
      await cp(copy, first, { recursive: true });
    }
    const after = await uploaded(isPutBack ? first : copy);
    assert.deepEqual([before.waited, after.waited], [[name], [name]]);
    assert.equal(new Set([name, ...before.own, ...after.own]).size, 3);
  });
