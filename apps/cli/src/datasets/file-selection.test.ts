import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { PlatformError } from '@platform/contract/errors/errors';
import { tempFolder } from '@platform/kit/testing';
import { fileSelection } from './file-selection.ts';

test('--file: parts of names, and lists of names, paths and IDs', async () => {
  await using folder = await tempFolder();
  const list = path.join(folder.path, 'list.txt');
  await writeFile(list, 'a.jpg\r\n\n images/b.jpg \norg/loc/7\ngone.jpg\n');
  const files = await fileSelection(['cup', `@${list}`]);
  const rows: [fileName: string, id: string, expected: boolean][] = [
    ['a.jpg', 'org/loc/1', true],
    ['aa.jpg', 'org/loc/2', false],
    ['b.jpg', 'org/loc/3', true],
    ['old/b.jpg', 'org/loc/4', true],
    ['my cup.jpg', 'org/loc/5', true],
    ['c.jpg', 'org/loc/7', true],
    ['c.jpg', 'org/loc/8', false],
  ];
  for (const [fileName, id, expected] of rows) assert.equal(files.takes(fileName, id), expected, `${fileName} ${id}`);
  assert.deepEqual(files.missing(), ['gone.jpg']);
  await assert.rejects(fileSelection([`@${list}.gone`]), (error: unknown) => {
    assert.ok(error instanceof PlatformError);
    assert.match(error.what, /--file .*list\.txt\.gone/);
    return true;
  });
});
