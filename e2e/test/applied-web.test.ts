// How the app shows a configuration that is not in effect, on a wide and on a narrow screen; the test simulates the
// machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { ConfigSlice, ServerState, Severity, SliceState } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { systemClock } from '@platform/kit/node';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { stayOnline } from '../src/stay-online.ts';
import { wireMachine } from '../src/wire-callers.ts';

const config = {
  agent: { system_configuration: { logging_journald_storage: 'auto' } },
  components: [{ name: 'yard', type: 'camera', model: 'webcam', attributes: { path: '/images' } }],
};
const why = 'The machine server 0.1.0 cannot run the entry at components[0]: it runs no camera "webcam".';

const dark = {
  code: 'CAMERA_FAILED',
  severity: Severity.WARNING,
  message: 'The camera "yard" gives no image: the folder /images does not exist on the machine.',
  remedy: 'Provide the folder.',
  path: 'components[0].attributes.path',
};

const report = (applied: number, since: number) => {
  const begun = { since: timestampFromMs(since) };
  const isWhole = applied > 0;
  return {
    appliedRevision: BigInt(applied),
    agent: { runningVersion: '0.1.0', installedVersion: '0.1.0', wantedVersion: '0.1.0' },
    server: { runningVersion: '0.1.0', installedVersion: '0.1.0', wantedVersion: '0.1.0' },
    serverState: ServerState.RUNNING,
    slices: [
      { slice: ConfigSlice.SETTINGS, state: SliceState.IN_EFFECT, appliedRevision: 1n, ...begun },
      { slice: ConfigSlice.VERSIONS, state: SliceState.IN_EFFECT, appliedRevision: 1n, ...begun },
      {
        slice: ConfigSlice.SYSTEM,
        state: SliceState.NO_EFFECT,
        reason: 'this agent does not act on it',
        ineffectivePaths: ['agent.system_configuration.logging_journald_storage'],
        ...begun,
      },
      { slice: ConfigSlice.NETWORK, state: SliceState.NO_EFFECT, reason: 'this agent does not act on it', ...begun },
      {
        slice: ConfigSlice.SERVER,
        state: isWhole ? SliceState.IN_EFFECT : SliceState.LAGGING,
        appliedRevision: BigInt(applied),
        ...(!isWhole && { code: 'RESOURCE_UNKNOWN', reason: why.replace(/\.$/, '') }),
        ...begun,
      },
    ],
    conditions: isWhole
      ? []
      : [
          {
            code: 'RESOURCE_UNKNOWN',
            severity: Severity.ERROR,
            message: why,
            remedy: 'Write a type and a model that it knows.',
            path: 'components[0].model',
            ...begun,
          },
        ],
  };
};

/** On a narrow screen the editor comes with the first look at the JSON. */
async function seesJson(page: Page, width: number): Promise<void> {
  if (width >= 1080) return;
  await page.getByRole('button', { name: 'JSON', exact: true }).click();
  await page.locator('.cm-content').waitFor();
  await page.getByRole('button', { name: 'Form', exact: true }).click();
}

test('the page says which part of the machine lags, since when and why, and the editor marks the place', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: `press ${width}` });
    const { id = '', partId = '' } = created.machine ?? {};
    const machine = await wireMachine(created.credentialsJson);
    await client.fleetClient.saveConfig({ partId, configJson: JSON.stringify(config, null, 2) });
    await machine.check(report(0, systemClock.wall() - 5 * 60_000));
    await using online = stayOnline(machine);

    const page = await signIn();
    const listed = page.getByRole('row', { name: `press ${width}` });
    await listed.waitFor();
    // A narrow list shows names, states and conditions.
    if (width > 760) await listed.getByText('? → 1').waitFor();
    await page.goto(`${ready.url}/machines/${id}/configure`);
    await page.getByText(/Revision 1 · saved, not in effect: The machine server 0\.1\.0 cannot run/).waitFor();

    const problems = page.getByRole('region', { name: 'Problems' });
    await problems.getByText('1 remark, 1 reported by the machine').waitFor();
    await problems.getByText('on the machine', { exact: true }).waitFor();
    await seesJson(page, width);
    await page.locator('.cm-lintRange-error').first().waitFor({ state: 'attached' });
    await checkPage(page, `configure, ${width} px`);
    await page.getByRole('button', { name: /Part status/ }).click();
    const status = page.getByRole('dialog', { name: 'Part status' });
    await status.getByText(/Configuration: revision 1 saved, not in effect: The machine server/).waitFor();
    const parts = status.getByRole('list', { name: 'Configuration by part' });
    await parts.getByText(/\d+ min/).waitFor();
    await parts.getByText('agent.system_configuration.logging_journald_storage').waitFor();
    await checkPage(page, `part status, ${width} px`);
    await page.keyboard.press('Escape');

    await machine.check(report(1, systemClock.wall()));
    await page.getByText(/^Revision 1 · partly in effect on the machine: agent\.\S+ has no effect/).waitFor();
    await problems.getByText('1 remark', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'REVISIONS' }).click();
    await page.getByText('partly in effect').waitFor();
    await checkPage(page, `revisions, ${width} px`);

    // A failure stands in the line that says "in effect"; of an offline machine nothing is claimed.
    await machine.check({ ...report(1, systemClock.wall()), conditions: [dark] });
    await page.getByRole('link', { name: 'CONFIGURE' }).click();
    await page
      .getByText(
        /partly in effect on the machine, but components\[0\]\.attributes\.path: The camera "yard" gives no image: the folder/,
      )
      .waitFor();
    // The camera is marked at the line and at the field that name what is missing.
    await seesJson(page, width);
    await page.locator('.cm-lintRange-warning', { hasText: '/images' }).first().waitFor({ state: 'attached' });
    const entry = page.getByRole('group', { name: 'yard' });
    await entry.getByText('1 problem').waitFor();
    await entry.getByRole('button', { name: /^yard/ }).click();
    await entry.getByText(/^On the machine: The camera "yard" gives no image/).waitFor();
    assert.equal(await entry.getByLabel('path', { exact: true }).inputValue(), '/images');
    await checkPage(page, `configure with a failing camera, ${width} px`);
    await online[Symbol.asyncDispose]();
    await page.getByText(/Revision 1 · saved, not confirmed: the machine is offline; it was in effect/).waitFor();
    await checkPage(page, `configure offline, ${width} px`);
    await page.goto(`${ready.url}/machines`);
    const row = page.getByRole('row', { name: `press ${width}` });
    await row.waitFor();
    // A narrow list shows names, states and conditions.
    if (width > 760) await row.getByText('? → 1').waitFor();
  });
});
