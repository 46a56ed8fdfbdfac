// A user with a phone sets up a device by a code; the test plays the device.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { codeHeader, deviceHeader, parseSetUpText, redeemPath } from '@platform/contract/provisioning/set-up-code';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { wireMachine } from '../src/wire-callers.ts';

/** What a device does with the text that a user enters. */
async function redeem(text: string, change: (code: string) => string = (code) => code): Promise<string> {
  const entered = parseSetUpText(text);
  assert.ok(entered, text);
  const headers = { [codeHeader]: change(entered.code), [deviceHeader]: randomBytes(32).toString('base64url') };
  const answer = await fetch(`${entered.server}${redeemPath}`, { method: 'POST', headers });
  return answer.text();
}
/** The first two neighbours that differ are swapped: those that are alike would leave the code right. */
const mistyped = (code: string): string => code.replace(/([A-Z])(?!\1)([A-Z])/, '$2$1');
const misread = (code: string): string => `${code.slice(0, 7)}${code.endsWith('A') ? 'B' : 'A'}`;

test('story: a user names a device, gets a code, and sees the device come online', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const base = { organizationId: ready.org_id, name: 'base', configJson: '{}' };
  const fragmentId = (await client.appClient.createFragment(base)).fragment?.id;
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const page = await signIn();
    await checkPage(page, `machines with the way to set-up, ${width} px`);
    await page.getByRole('link', { name: 'Add a machine' }).click();
    await page.getByText('By phone').click();
    await page.getByLabel('Name', { exact: true }).fill(`device ${width}`);
    await page.getByLabel('Starts with the fragment').selectOption('base');
    await checkPage(page, `set-up name, ${width} px`);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText(`Waiting for device ${width}.`).waitFor();
    await page.getByRole('button', { name: 'Create the code' }).click();
    const shown = page.getByRole('region', { name: 'set-up code' });
    const text = (await shown.textContent()) ?? '';
    const known = page.getByRole('region', { name: 'What the server knows' });
    await known
      .getByText('No device has tried this code.')
      .or(known.getByText('leads each device to itself'))
      .waitFor();
    assert.equal(await page.getByRole('img', { name: /QR code/ }).count(), 0, 'the name is not complete');
    await page.getByLabel('Name of its WiFi').fill('platform-setup-barn; "east"');
    await page.getByRole('img', { name: 'QR code of the WiFi platform-setup-barn; "east"' }).waitFor();
    await page.getByText('What it cannot know').click();
    await checkPage(page, `set-up code, ${width} px`);

    for (const wrong of [mistyped, misread]) assert.match(await redeem(text, wrong), /SET_UP_CODE_INVALID/);
    const refused = known.getByText(/a device tried a code that differs from this one in one letter/);
    await refused.nth(1).waitFor();
    await checkPage(page, `set-up refused, ${width} px`);
    await page.reload();
    await page.getByText(/A code was created .* Its letters are not stored/).waitFor();
    await refused.nth(1).waitFor();

    const machine = await wireMachine(await redeem(text));
    await known.getByText(/A device redeemed the code and got its credentials/).waitFor();
    await machine.check({});
    await page.getByText(`device ${width} is online.`).waitFor();
    await page.getByText(/It redeemed the code/).waitFor();
    await checkPage(page, `set-up done, ${width} px`);
    await page.getByRole('link', { name: 'Open' }).click();
    await page.getByRole('heading', { name: `device ${width}` }).waitFor();
    const made = await client.fleetClient.listMachines({ organizationId: ready.org_id, named: `device ${width}` });
    const { configJson } = await client.fleetClient.getConfig({ partId: made.machines[0]?.partId ?? '' });
    assert.deepEqual(JSON.parse(configJson), { fragments: [fragmentId] });
  });
});
