import assert from 'node:assert/strict';
import { test } from 'node:test';
import { libraryFolders } from './trainer-sandbox.ts';

const rows: [name: string, value: string | undefined, folders: string[]][] = [
  ['none is named', undefined, []],
  ['empty and relative ones mean nothing inside', ':lib:./x:', []],
  ['what the sandbox shows already is not mounted again', '/usr/local/cuda/lib64:/lib:/lib64/x:/usr/../usr/lib', []],
  ['others are, once', '/opt/cuda/lib64:/opt/cuda/lib64:/opt/cudnn//lib', ['/opt/cuda/lib64', '/opt/cudnn/lib']],
  ['a name that only begins alike is another folder', '/users/lib:/library', ['/users/lib', '/library']],
];
for (const [name, value, folders] of rows) {
  test(`folders of LD_LIBRARY_PATH in the sandbox of a trainer: ${name}`, () =>
    assert.deepEqual(libraryFolders(value), folders));
}
