// The form of the maintenance windows, on a wide and on a narrow screen.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';

test('several maintenance windows are written, corrected and saved by the form', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client, widths: [1280, 360] }, async ({ width, signIn }) => {
    const { machine } = await client.fleetClient.createMachine({
      organizationId: ready.org_id,
      name: `press ${width}`,
    });
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${machine?.id ?? ''}/configure`);
    const form = page.getByRole('region', { name: 'Maintenance windows' });
    await form.getByText('a new version is used from the next restart on').waitFor();
    await form.getByRole('button', { name: 'Add a window' }).click();
    await form.getByRole('button', { name: 'Add a window' }).click();
    const [first, second] = [1, 2].map((n) => form.getByRole('group', { name: `Window ${n}` }));
    assert.ok(first && second);
    for (const day of ['Mon', 'Tue', 'Wed', 'Thu', 'Fri']) await first.getByLabel(day, { exact: true }).uncheck();
    await first.getByLabel('From').fill('22:00');
    await first.getByText('On the next day.').waitFor();
    await first.getByLabel('Time zone').fill('Europe/Berlin');
    await second.getByLabel('Ends').selectOption('duration');
    await second.getByLabel('Minutes').fill('20000');
    await page.getByText('maintenance_window[1].duration_minutes').first().waitFor();
    await checkPage(page, `maintenance windows, ${width} px`);
    await second.getByLabel('Minutes').fill('45');
    await page.getByRole('button', { name: /^Review and save/ }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/Saved as revision 1/).waitFor();
    const saved = await client.fleetClient.getConfig({ partId: machine?.partId ?? '' });
    assert.deepEqual(JSON.parse(saved.configJson), {
      maintenance_window: [
        { days: ['sat', 'sun'], from: '22:00', to: '04:00', time_zone: 'Europe/Berlin' },
        { from: '02:00', duration_minutes: 45, time_zone: 'device' },
      ],
    });
  });
});
