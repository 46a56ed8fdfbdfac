import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

const script = path.join(import.meta.dirname, 'start-memory.ts');
const bun = path.join(
  import.meta.dirname,
  '../../../node_modules/@oven',
  `bun-linux-${process.arch === 'x64' ? 'x64' : 'aarch64'}`,
  'bin/bun',
);
const run = (program: string) => {
  const { status, stdout, stderr } = spawnSync(program, [script], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as { before: number; after: number; works: number; log: string };
};

test('the memory of the start is released, and the program continues', () => {
  const { before, after, works, log } = run(bun);
  assert.match(log, /memory of the start was let go of \{"ranges":2,"isTakenBack":true\}/);
  assert.ok(after < before * 0.8, `${before} → ${after} KiB of files`);
  assert.equal(works, 3);
});

test('another runtime keeps it, and says so', () => {
  assert.match(run(process.execPath).log, /memory of the start is kept/);
});
