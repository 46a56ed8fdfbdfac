// The stories of the web app as a whole on a narrow screen. Each change checks them on a wide one, and on the narrow one
// only what they come to.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { plainEnvironment } from '@platform/kit/node';
import { checkout } from '../src/up-process.ts';

const folder = path.join(checkout, 'e2e', 'test');
const stories = readdirSync(folder)
  .filter((name) => /(?<!\.(?:full|lab|attack|nightly))\.test\.ts$/.test(name))
  .map((name) => path.join(folder, name))
  .filter((file) => readFileSync(file, 'utf8').includes('atEachWidth('));

/** The browser to use, and that a story without one is a failure. */
const settings = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^PLATFORM_(?:CHROMIUM|NO_SKIPS|TEST_\w+)$/.test(name)),
);

test('each story of the web app at 360 px', { timeout: 2 * 3_600_000 }, () => {
  assert.ok(stories.length > 20, `${stories.length} files`);
  const { status } = spawnSync(process.execPath, [path.join(checkout, 'tools', 'test.ts'), ...stories], {
    env: plainEnvironment({ ...settings, PLATFORM_TEST_WIDTH: '360' }),
    stdio: ['ignore', 2, 2],
  });
  assert.equal(status, 0, 'the output above has what failed');
});
