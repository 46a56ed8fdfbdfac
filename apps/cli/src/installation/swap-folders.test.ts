import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { swapFolders } from './swap-folders.ts';

/** Each folder with the word that stands in it. */
const content = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder)
      .toSorted()
      .map((name) => [name, readFileSync(path.join(folder, name, 'is'), 'utf8')]),
  );

const before = { cloud: 'old', 'release-keys': 'old keys' };
const restored = { cloud: 'new', 'release-keys': 'new keys' };
/** What is in use, what was restored, and what is in use and put aside after it. */
const rows: [string, Record<string, string>, Record<string, string>, Record<string, string>, Record<string, string>][] =
  [
    ['both', before, restored, restored, before],
    ['a backup without release keys', before, { cloud: 'new' }, { ...before, cloud: 'new' }, { cloud: 'old' }],
    ['an empty disk', {}, restored, restored, {}],
    ['only the keys are left', { 'release-keys': 'old keys' }, restored, restored, { 'release-keys': 'old keys' }],
  ];

for (const [name, inUse, fresh, after, aside] of rows)
  for (const interrupted of [0, 1, 2, 3, Infinity])
    test(`folders change places: ${name}, cut off before the change ${interrupted}, then repeated`, async () => {
      await using folder = await tempFolder();
      const at = { fresh: folder.file('fresh'), data: folder.file('data'), replaced: folder.file('replaced') };
      for (const [of, words] of [
        [at.fresh, fresh],
        [at.data, inUse],
      ] as const) {
        mkdirSync(of);
        for (const [one, word] of Object.entries(words)) {
          mkdirSync(path.join(of, one));
          writeFileSync(path.join(of, one, 'is'), word);
        }
      }
      let left = interrupted;
      const cut: typeof renameSync = (from, to) => {
        if (left-- === 0) throw new Error('the power is cut');
        renameSync(from, to);
      };
      try {
        swapFolders(at, cut);
      } catch (error) {
        assert.match(String(error), /the power is cut/);
      }
      swapFolders(at);
      assert.deepEqual([content(at.data), content(at.replaced), content(at.fresh)], [after, aside, {}]);
      swapFolders(at);
      assert.deepEqual([content(at.data), content(at.replaced)], [after, aside], 'nothing is left to do');
    });
