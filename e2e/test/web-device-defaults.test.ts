// CONFIGURE of a machine whose device has a defaults file: where each value comes from, with the real agent.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { writeFile } from 'node:fs/promises';
import { spawnGroup } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { checkout } from '../src/up-process.ts';

const groups = ['Versions', 'Network and hotspot', 'Additional networks', 'Advanced', 'System'];

const row = (page: Page, field: string) =>
  page.locator('.form-row', { has: page.getByText(field, { exact: true }) }).locator('.form-row-source');

test('story: a value of the device, of a fragment and of the machine, in this order, in all five groups', async () => {
  await using cloud = await startCloud();
  await using folder = await tempFolder();
  const { ready } = cloud;
  const client = clientOf(ready);
  const base = {
    version_control: { 'platform-server': 'stable' },
    network_configuration: { user_idle_minutes: 6 },
    advanced_settings: { platform_server_start_timeout_minutes: 6 },
  };
  const made = await client.appClient.createFragment({
    organizationId: ready.org_id,
    name: 'base',
    configJson: JSON.stringify({ agent: base }),
  });
  const fragmentId = made.fragment?.id ?? '';
  const defaults = {
    version_control: { agent: 'dev', 'platform-server': 'dev' },
    network_configuration: {
      manufacturer: 'acme',
      user_idle_minutes: 7,
      hotspot_password: 'hunter2hunter2',
      fragment_id: fragmentId,
    },
    additional_networks: [{ type: 'wifi', ssid: 'Barn', psk: 'hunter2hunter2' }],
    advanced_settings: { platform_server_start_timeout_minutes: 7 },
    system_configuration: { logging_journald_system_max_use_megabytes: 100 },
  };
  await writeFile(folder.file('defaults.json'), JSON.stringify(defaults));
  const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'barn' });
  const { id = '', partId = '' } = created.machine ?? {};
  await atEachWidth({ client, widths: [1280] }, async ({ signIn }) => {
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${id}/configure`);
    const open = async (): Promise<void> => {
      for (const name of groups) {
        const head = page.getByRole('group', { name, exact: true }).getByRole('button').first();
        if ((await head.getAttribute('aria-expanded')) !== 'true') await head.click();
      }
    };
    await open();
    await row(page, 'Start timeout of the machine server').getByText('Default not known').waitFor();

    await writeFile(folder.file('platform.json'), created.credentialsJson, { mode: 0o600 });
    const places = ['--root', folder.file('agent'), '--config', folder.file('platform.json')];
    const agent = await spawnGroup({
      command: process.execPath,
      args: [
        path.join(checkout, 'apps/agent/src/main.ts'),
        'run',
        ...places,
        '--defaults',
        folder.file('defaults.json'),
      ],
      logFile: folder.file('agent.log'),
    });
    try {
      await row(page, 'Manufacturer')
        .getByText(/Default of the device: acme, reported /)
        .waitFor();
      await row(page, 'Hotspot password')
        .getByText(/Default of the device: \(secret of the device\)/)
        .waitFor();
      await row(page, 'Debug log').getByText('Built-in default').waitFor();
      await page.getByText(/Default of the device: 1 entry, reported/).waitFor();
      await row(page, 'Space for persistent logs')
        .getByText(/Default of the device: 100/)
        .waitFor();
      await checkPage(page, 'configure with defaults of the device');

      await page.getByRole('button', { name: 'Use it' }).click();
      await row(page, 'Start timeout of the machine server').getByText('From base: 6').waitFor();
      await row(page, 'Machine server version').getByText('From base: stable').waitFor();
      // The management server chooses versions, and does not know the file.
      await row(page, 'Agent version').getByText('Built-in default').waitFor();
      const timeout = page.getByLabel('Start timeout of the machine server');
      assert.equal(await timeout.getAttribute('placeholder'), '6');
      await timeout.fill('5');
      await row(page, 'Start timeout of the machine server').getByText('Set here').waitFor();
      assert.equal(await page.getByText('hunter2').count(), 0);
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.setViewportSize({ width: 360, height: 740 });
      await checkPage(page, 'configure with defaults of the device, dark');
      const { machines } = await client.fleetClient.listMachines({ organizationId: ready.org_id });
      assert.equal(machines[0]?.report?.deviceDefaults, undefined, 'lists stay short');
      assert.equal(machines[0]?.partId, partId);
    } finally {
      await agent.stop({ termMs: 20_000 });
    }
  });
});
