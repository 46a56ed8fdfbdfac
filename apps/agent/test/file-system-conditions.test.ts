// What is wrong with the file system of the agent's folder is a condition of the machine, and goes with its cause.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { World } from './world.ts';

const minute = 60_000;

test('no inodes, no space, noexec: named with the mount point, and gone with the cause only', async () => {
  const w = new World();
  const agent = w.start();
  await w.clock.advance(5 * minute);
  const fine = { mountPoint: '/data', isNoExec: false, freeBytes: 54e9 };
  const rows: [found: typeof w.machine.fileSystem, code: string, says: RegExp][] = [
    [
      { ...fine, inodes: { total: 40, free: 0 } },
      'DISK_FULL',
      /No inodes are free on the file system at \/data.*all 40/,
    ],
    [{ ...fine, freeBytes: 0 }, 'DISK_FULL', /no space left on the file system at \/data/],
    [{ ...fine, isNoExec: true }, 'ROOT_NOEXEC', /file system at \/data, which is mounted noexec/],
  ];
  const found = (code: string) => w.cloud.report.get()?.conditions.find((c) => c.code === code);
  for (const [fileSystem, code, says] of rows) {
    w.machine.fileSystem = fileSystem;
    await w.clock.advance(2 * minute);
    assert.match(found(code)?.message ?? '', says);
    assert.notEqual(found(code)?.remedy, '');
    w.machine.fileSystem = undefined;
    await w.clock.advance(10 * minute);
    assert.match(found(code)?.message ?? '', says, 'what cannot be measured has not become good');
    w.machine.fileSystem = { ...fine, inodes: { total: 40, free: 30 } };
    await w.clock.advance(2 * minute);
    assert.equal(found(code), undefined);
  }
  agent.stop();
  await w.clock.advance(5_000);
  await agent.done;
});
