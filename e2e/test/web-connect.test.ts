// A user finds the command that installs the agent on each platform on the page of a machine.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { tempFolder } from '@platform/kit/testing';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, watchComplaints } from '../src/page-checks.ts';
import { runCli } from '../src/up-process.ts';

const version = '1.0.0';

test('story: the tab CONNECT has a command for each released platform, and names the others', async () => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const publish = async (platform: string): Promise<void> => {
    const file = folder.file(platform.replace('/', '-'));
    await writeFile(
      file,
      `a program\nPLATFORM-PROGRAM:${JSON.stringify({ name: 'platform-agent', version, platform })}\n`,
    );
    const done = await runCli(env, 'release', 'publish', file, '--channel', 'stable', '--keys', folder.file('keys'));
    assert.equal(done.code, 0, done.stderr);
  };
  assert.equal((await runCli(env, 'release', 'keys', 'init', folder.file('keys'))).code, 0);
  assert.equal((await runCli(env, 'machine', 'create', 'barn', '--json')).code, 0);
  await publish('linux/amd64');

  const client = clientOf(ready);
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 360, height: 740 } });
    const complaints = watchComplaints(context);
    const page = await context.newPage();
    await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
    await page.goto(`${ready.url}/machines`);
    await page.getByRole('link', { name: 'barn' }).click();
    await page.getByRole('link', { name: 'CONNECT' }).click();
    await page.getByRole('button', { name: 'Show credentials and commands' }).click();
    await page.getByText(`{ curl -fsSL ${ready.url}/install.sh || (echo; echo exit 2); } | sudo sh`).waitFor();
    await page.getByText('Not released yet for linux/arm64, windows/amd64.').waitFor();
    await checkPage(page, 'connect, one platform');

    for (const platform of ['linux/arm64', 'windows/amd64']) await publish(platform);
    await page.reload();
    await page.getByRole('button', { name: 'Show credentials and commands' }).click();
    await page.getByText(`${ready.url}/releases/platform-agent/${version}/windows-amd64/platform-agent;`).waitFor();
    assert.equal(await page.getByText('Not released yet').count(), 0);
    await checkPage(page, 'connect, every platform');
    assert.deepEqual(complaints, []);
  } finally {
    await browser.close();
  }
});
