import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { isAlive, processStartTime } from '../src/node/process-group.ts';
import { tempFolder } from '../src/testing/index.ts';

// In a container of systemd, a unit with mounts of its own sees the boot ID of the host.
test('a process that sees another boot ID than this one is known by the ID that it sees', async () => {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return;
  await using folder = await tempFolder();
  const own = '11111111-2222-3333-4444-555555555555';
  await writeFile(folder.file('boot_id'), `${own}\n`);
  const script = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && echo mounted && exec sleep 60';
  const child = spawn('unshare', ['-m', 'sh', '-c', script, folder.file('boot_id')]);
  try {
    await once(child.stdout, 'data');
    const ticks = processStartTime(child.pid!)?.split('/')[1];
    assert.equal(isAlive({ pid: child.pid!, startTime: `${own}/${ticks}` }), true);
    assert.equal(isAlive({ pid: child.pid!, startTime: `${own}/1` }), false);
    const other = own.replace('1', '2');
    assert.equal(isAlive({ pid: child.pid!, startTime: `${other}/${ticks}` }), false, 'of an earlier boot');
  } finally {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});
