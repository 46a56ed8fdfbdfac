import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

test('everything generated is what its source gives', () => {
  const root = path.resolve(import.meta.dirname, '../../..');
  const done = spawnSync(process.execPath, [path.join(root, 'tools/gen.ts'), '--check'], { encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
});
