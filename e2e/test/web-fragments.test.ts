// Fragments in the web app: one is written, added to two machines, changed with a look at what changes where.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';

const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
const settings = (minutes: number): string =>
  JSON.stringify({ agent: { advanced_settings: { platform_server_start_timeout_minutes: minutes } } }, null, 2);

/** Replaces the text in the editor as users do. */
async function type(page: Page, text: string): Promise<void> {
  await page.locator('.cm-content').click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.insertText(text);
}

async function checkInBothThemes(page: Page, what: string): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await checkPage(page, `${what}, ${colorScheme}`);
  }
}

async function saves(page: Page, dialogName: string, what: string): Promise<void> {
  await button(page, 'Review and save …').click();
  const dialog = page.getByRole('dialog', { name: dialogName });
  await checkPage(page, what);
  await dialog.getByRole('button', { name: 'Save', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
}

test('story: a fragment is written, two machines use it, and a change shows where it goes before it does', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const organizationId = ready.org_id;
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const [barn, yard] = [`barn ${width}`, `yard ${width}`];
    const made = await client.fleetClient.createMachine({ organizationId, name: barn });
    const beside = await client.fleetClient.createMachine({ organizationId, name: yard });
    const page = await signIn();
    const name = `base ${width}`;
    await page.goto(`${ready.url}/fragments`);
    await page.getByRole('heading', { name: 'Fragments', exact: true }).waitFor();
    await checkPage(page, `fragments before the first, ${width} px`);
    await button(page, 'New fragment').click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await checkPage(page, `new fragment, ${width} px`);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name }).waitFor();
    await type(page, settings(5));
    await page.getByText('No machine follows this fragment.').waitFor();
    await saves(page, `Save ${name}?`, `fragment save, ${width} px`);
    await page.getByText('Revision 2, used by no machine').waitFor();
    const fragmentId = new URL(page.url()).pathname.split('/').at(-1) ?? '';

    await page.goto(`${ready.url}/machines/${made.machine?.id}/configure`);
    const list = page.getByRole('region', { name: 'Fragments' });
    await list.getByRole('button', { name: 'Add a fragment' }).press('Enter');
    await page.getByRole('menuitem', { name }).press('Enter');
    await list.getByRole('link', { name }).waitFor();
    await button(page, /^Advanced/).click();
    await page.getByText(`From ${name}: 5`).waitFor();
    await page.getByText('1 from fragments').waitFor();
    assert.equal(await page.getByLabel('Start timeout of the machine server').getAttribute('placeholder'), '5');
    await checkInBothThemes(page, `configure with a fragment, ${width} px`);
    await saves(page, 'Save this configuration?', `configure save with a fragment, ${width} px`);
    const { partId = '' } = made.machine ?? {};
    const { configJson, fragments } = await client.fleetClient.getConfig({ partId });
    assert.deepEqual(JSON.parse(configJson), { fragments: [fragmentId] });
    assert.deepEqual(
      fragments.map((one) => [one.name, one.revision]),
      [[name, 2n]],
    );
    // The second machine has a value of its own.
    await client.fleetClient.saveConfig({
      partId: beside.machine?.partId ?? '',
      configJson: JSON.stringify({ fragments: [fragmentId], ...(JSON.parse(settings(7)) as object) }),
    });

    await list.getByRole('link', { name }).click();
    await page.getByRole('heading', { name }).waitFor();
    await type(
      page,
      '{"agent": {"advanced_settings": {"platform_server_start_timeout_minutes": {"$variable": {"name": "m"}}}}}',
    );
    const effects = page.getByRole('region', { name: 'What changes where' });
    await effects.getByText(/2 would get new errors, so it cannot be saved/).waitFor();
    await checkPage(page, `fragment that breaks machines, ${width} px`);
    await type(page, settings(9));
    // What is shown of the text follows it by 400 ms: the browser has kept it by then.
    const change = effects.getByText('changed agent.advanced_settings.platform_server_start_timeout_minutes');
    await change.waitFor();
    await page.goto(`${ready.url}/fragments`);
    await page.getByRole('link', { name }).click();
    await page.locator('.cm-content').getByText('9', { exact: true }).waitFor();
    await effects.getByText('2 machines follow it', { exact: true }).waitFor();
    await change.waitFor();
    await effects.getByText('nothing changes').waitFor();
    await checkInBothThemes(page, `fragment with what changes where, ${width} px`);
    await saves(page, `Save ${name}?`, `fragment save with machines, ${width} px`);
    await page.getByText('Revision 3, used by 2 machines').waitFor();
    const { revisions } = await client.fleetClient.listConfigRevisions({ partId });
    assert.deepEqual(
      revisions.map(({ comment }) => comment),
      [`Fragment ${name}, revision 3`, ''],
    );

    await page.goto(`${ready.url}/machines/${made.machine?.id}/revisions`);
    await page.getByText(`with ${name} 3`).waitFor();
    await checkPage(page, `revisions with fragments, ${width} px`);
    await page.goto(`${ready.url}/machines/${made.machine?.id}/configure`);
    await list.getByRole('button', { name: `Remove ${name}` }).click();
    await list.getByRole('link', { name }).waitFor({ state: 'detached' });
    await page.goto(`${ready.url}/fragments/${fragmentId}`);
    await button(page, 'Delete').click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText(/was not deleted, because 2 machine part\(s\) use it/).waitFor();
    await checkPage(page, `fragment in use, ${width} px`);
    await page.goto(`${ready.url}/fragments`);
    await page.getByRole('link', { name }).waitFor();
    await checkPage(page, `fragments, ${width} px`);
  });
});
