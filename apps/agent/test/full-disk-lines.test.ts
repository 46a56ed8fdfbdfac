import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';

const namespace = process.getuid?.() === 0 ? ['-m'] : ['-Ucm', '--keep-caps'];
/** Some systems forbid mounts for ordinary users, even in their own namespace. */
const canMount = spawnSync('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;
const script = 'mount -t tmpfs -o size=256k,mode=755 tmpfs "$1" && exec "$2" "$3" "$1" "$4"';

test(
  'lines of a machine server that starts on a full disk are kept in memory, and on the disk when there is room',
  {
    skip: !canMount,
  },
  async () => {
    await using folder = await tempFolder();
    const disk = folder.file('disk');
    mkdirSync(disk);
    const program = path.join(import.meta.dirname, 'full-disk-lines.ts');
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      [...namespace, 'sh', '-c', script, 'sh', disk, process.execPath, program, folder.file('memory')],
      { encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    const states = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    const onDisk = (line: string) => ({ place: 'disk', seen: [line], isLink: false, problem: '' });
    const inMemory = (line: string) => ({ place: 'memory', seen: [line], isLink: true, problem: '' });
    assert.deepEqual(states, [
      onDisk('there is room'),
      inMemory('full'),
      inMemory('still full'),
      inMemory('full after a boot'),
      onDisk('room again'),
    ]);
  },
);
