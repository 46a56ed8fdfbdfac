import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { plainEnvironment } from '@platform/kit/node';

const checkout = path.resolve(import.meta.dirname, '../../..');

/** Builds the program if its sources have changed. */
export function built(what: 'platform-agent' | 'agent-on-node'): { file: string; version: string } {
  const done = spawnSync(process.execPath, [path.join(checkout, 'tools/release.ts'), what], {
    env: plainEnvironment(),
    encoding: 'utf8',
  });
  assert.equal(done.status, 0, done.stderr);
  return JSON.parse(done.stdout) as { file: string; version: string };
}
