import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { makeAttemptFolder } from './attempt-folder.ts';

test('its own folder, for its owner alone; what dead attempts of this host left is removed, the rest stays', async () => {
  await using base = await tempFolder();
  const first = await makeAttemptFolder(base.file('attempts'));
  assert.equal((await stat(first)).mode & 0o077, 0);
  const name = first.slice(base.file('attempts').length + 1);
  const [head = '', host = '', pid = '', startTime = ''] = name.split('_');
  assert.deepEqual([head, pid], ['platform-attempt', String(process.pid)]);
  const ended = spawnSync('true').pid;
  const names = {
    dead: [head, host, ended, 'ab-1.1', 'abc'].join('_'),
    reused: [head, host, pid, 'ab-1.1', 'abc'].join('_'),
    elsewhere: [head, 'other', ended, 'ab-1.1', 'abc'].join('_'),
    strange: 'platform-attempt-7',
  };
  for (const each of Object.values(names)) {
    await mkdir(base.file('attempts', each));
    await writeFile(base.file('attempts', each, 'image'), 'x');
  }
  const second = await makeAttemptFolder(base.file('attempts'));
  assert.notEqual(second, first);
  assert.ok(startTime !== '');
  assert.deepEqual(
    (await readdir(base.file('attempts'))).toSorted(),
    [name, second.slice(base.file('attempts').length + 1), names.elsewhere, names.strange].toSorted(),
  );
});
