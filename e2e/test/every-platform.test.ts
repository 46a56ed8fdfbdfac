// A server that was started with `npm start` has releases for the machines of every platform, not only of its own.
import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { programTargetPath, releasePlatforms } from '@platform/contract/releases/target-path';
import { systemClock } from '@platform/kit/node';
import { dataFolder, runCli, startUpForAll, storyEvents } from '../src/up-process.ts';

interface Row {
  name: string;
  version: string;
  platform: string;
  channels: string[];
  signed: boolean;
}

/** Starts the platform, waits until it has tried every platform, and stops it. */
async function started(dataDir: string): Promise<{ rows: Row[]; sums: string; words: string; created: string }> {
  const before = (await storyEvents(dataDir)).length;
  const up = await startUpForAll(dataDir, '--empty');
  const ready = await up.answer;
  assert.ok(ready, await Promise.race([up.stderr, Promise.resolve('no line')]));
  const env = {
    PLATFORM_URL: String(ready['url']),
    PLATFORM_API_KEY_ID: String(ready['api_key_id']),
    PLATFORM_API_KEY: String(ready['api_key']),
  };
  const isDone = async (): Promise<boolean> =>
    (await storyEvents(dataDir)).slice(before).some(({ what }) => what === 'release: patches end');
  while (!(await isDone())) await systemClock.sleep(200);
  const { stdout } = await runCli(env, 'release', 'list', '--json');
  const sums = await (await fetch(`${env.PLATFORM_URL}/releases/SHA256SUMS`)).text();
  const { stdout: created } = await runCli(env, 'machine', 'create', `machine-${before}`);
  up.group.signal('SIGTERM');
  assert.equal((await up.group.exited).code, 0);
  return { rows: JSON.parse(stdout) as Row[], sums, words: await up.stderr, created };
}

const platformsOf = (rows: readonly Row[]): string[] =>
  rows
    .filter(({ channels, signed }) => signed && channels.includes('stable'))
    .map(({ name, platform }) => `${name} ${platform}`)
    .toSorted();
const both = (platforms: readonly string[]): string[] =>
  ['platform-agent', 'platform-server'].flatMap((name) => platforms.map((platform) => `${name} ${platform}`));

test('every platform is released in the background; one that fails is reported and tried again', async () => {
  await using folder = await dataFolder();
  // A file where the build folder of one platform belongs.
  const builds = path.join(folder.path, 'builds');
  await mkdir(builds);
  const own = releasePlatforms.filter((platform) => platform !== 'linux/arm64');
  await writeFile(path.join(builds, 'linux-arm64'), 'in the way');

  const first = await started(folder.path);
  assert.deepEqual(platformsOf(first.rows), both(own));
  assert.match(first.words, /Not released for linux\/arm64: .*EEXIST.* The next npm start tries it again\./);
  assert.match(first.words, /Agent and machine server are released for windows\/amd64, too\./);

  assert.match(first.created, /Put this on the machine as .*C:\\ProgramData\\Platform\\platform\.json/);
  assert.match(first.created, /install\.sh \|\| \(echo; echo exit 2\); \} \| sudo sh/);
  const [, sha256 = ''] =
    /windows-amd64\/platform-agent; if \(\(Get-FileHash \$f\)\.Hash -ne '(\w{64})'/.exec(first.created) ?? [];
  assert.match(first.sums, new RegExp(`^${sha256}  .*/windows-amd64/platform-agent$`, 'm'));
  assert.match(first.created, /Not released yet for linux\/arm64: /);

  const second = await started(folder.path);
  assert.doesNotMatch(second.created, /Not released yet/);
  assert.deepEqual(platformsOf(second.rows), both(releasePlatforms));
  for (const { name, version, platform } of second.rows)
    assert.match(
      second.sums,
      new RegExp(`^[0-9a-f]{64}  ${programTargetPath({ name, version, platform })}/${name}$`, 'm'),
    );
  assert.deepEqual(await readdir(builds), [], 'the files are on the server alone');

  const third = await started(folder.path);
  assert.doesNotMatch(third.words, /Not released|are released/, 'nothing is left to do');
});
