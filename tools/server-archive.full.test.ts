import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment } from '@platform/kit/node';

test('two builds of the archive of the server are the same bytes, whoever builds it', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-archive-'));
  try {
    const build = (name: string, umask: string, zone: string): unknown => {
      const program = path.join(import.meta.dirname, 'server-archive.ts');
      const script = `umask ${umask}; exec "$0" "$1" --programs none --out "$2"`;
      const done = spawnSync('/bin/sh', ['-c', script, process.execPath, program, path.join(folder, name)], {
        encoding: 'utf8',
        env: plainEnvironment({ TZ: zone }),
      });
      assert.equal(done.status, 0, done.stderr);
      return (JSON.parse(done.stdout) as { sha256: string }).sha256;
    };
    assert.equal(build('one', '022', 'UTC'), build('two', '077', 'Asia/Kolkata'));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
