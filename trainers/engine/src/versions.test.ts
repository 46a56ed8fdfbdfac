import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { plainEnvironment } from '@platform/kit/node';
import { machine } from './versions.ts';

test('the peak of memory is of the program alone, not of what started it', () => {
  const ballast = Buffer.alloc(300 << 20, 1);
  const module = JSON.stringify(new URL('versions.ts', import.meta.url).href);
  const script = `import(${module}).then(({ machine }) => console.log(machine().peak_rss_mib))`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--eval', script], {
    env: plainEnvironment(),
    encoding: 'utf8',
  });
  const child = Number(stdout);
  assert.ok(child > 10 && child < 250, `${stdout}${stderr}`);
  assert.ok(machine().peak_rss_mib > ballast.byteLength >> 20);
});
