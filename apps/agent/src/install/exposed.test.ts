import assert from 'node:assert/strict';
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { exposedOf } from './look.ts';

test('what others may change is found, in folders above and behind links, too', async () => {
  await using folder = await tempFolder();
  await mkdir(folder.file('open/agent/state'), { recursive: true });
  await writeFile(folder.file('open/agent/platform.json'), '{}', { mode: 0o600 });
  await symlink(folder.file('open/agent'), folder.file('link'));
  const found = async (...names: string[]) => (await exposedOf(folder.file(...names))).map(({ path }) => path);
  assert.deepEqual(await found('open/agent'), []);
  assert.deepEqual(await found('none/yet'), []);
  for (const mode of [0o777, 0o757]) {
    await chmod(folder.file('open'), mode);
    assert.deepEqual(await found('open/agent/state'), [folder.file('open')], mode.toString(8));
    assert.deepEqual(await found('open/new'), [folder.file('open')]);
    assert.deepEqual(await found('link'), [folder.file('open')]);
  }
  // Group root may write.
  await chmod(folder.file('open'), 0o775);
  assert.deepEqual(await found('open/agent'), process.getgid?.() === 0 ? [] : [folder.file('open')]);
  await chmod(folder.file('open'), 0o1777);
  assert.deepEqual(await found('open/agent'), []);
  await chmod(folder.file('open/agent/platform.json'), 0o666);
  assert.deepEqual(await exposedOf(folder.file('open/agent/platform.json')), [
    { path: folder.file('open/agent/platform.json'), because: `owner ${process.getuid?.()}, mode 666` },
  ]);
});
