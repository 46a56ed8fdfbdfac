// How the app shows the operating system of a machine, on a wide and on a narrow screen; the test simulates the machine.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { systemClock } from '@platform/kit/node';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { wireMachine } from '../src/wire-callers.ts';

const system = () => ({
  waitingCount: 61,
  securityCount: 1,
  waiting: Array.from({ length: 50 }, (_, n) => ({
    package: `package-with-a-long-name-${n}`,
    fromVersion: '2:7.88.1-10+deb12u12',
    toVersion: '2:7.88.1-10+deb12u14',
    isSecurity: n === 0,
  })),
  lastRun: {
    started: timestampFromMs(systemClock.wall() - 5 * 60_000),
    command: '/usr/bin/unattended-upgrade',
    packages: [{ package: 'curl', fromVersion: '1', toVersion: '2' }],
    packageCount: 1,
    problem: 'Sub-process /usr/bin/dpkg returned an error code (1)',
  },
  rebootNeeded: true,
  rebootNeededSince: timestampFromMs(systemClock.wall() - 3 * 60_000),
  rebootCauses: ['linux-image-6.1.0-41-amd64'],
  rebootWait: 'no maintenance window is configured',
});

test('the page of a machine shows upgrades and reboots, and a user upgrades it by a button', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: `pump ${width}` });
    const { id = '' } = created.machine ?? {};
    const machine = await wireMachine(created.credentialsJson);
    await machine.check({ system: system() });
    const page = await signIn();
    await page.goto(`${ready.url}/machines/${id}/overview`);
    const card = page.getByRole('region', { name: 'Operating system' });
    await card.getByText('61 upgrades wait, 1 for security').waitFor();
    await card.getByText('Sub-process /usr/bin/dpkg returned an error code (1)').waitFor();
    await card.getByText(/because of.*linux-image-6\.1\.0-41-amd64.*no maintenance window is configured/).waitFor();
    for (const details of await card.getByText('Packages', { exact: true }).all()) await details.click();
    await card.getByText('and 11 more').waitFor();
    await checkPage(page, `operating system, ${width} px`);

    await card.getByRole('button', { name: 'Upgrade now' }).click();
    await page.getByRole('button', { name: 'Upgrade', exact: true }).click();
    await card.getByText(/requested/).waitFor();
    assert.ok((await client.fleetClient.getMachine({ id })).machine?.systemUpgradeRequestedOn);
    await machine.check({ system: { waitingCount: 0, task: 'upgrade the packages' } });
    await card.getByText('now: upgrade the packages').waitFor();
    assert.equal(await card.getByRole('button', { name: 'Upgrade now' }).isDisabled(), true);
    const why = 'disable_system_configuration is true; restored: /etc/systemd/journald.conf.d/90-platform.conf';
    await machine.check({ system: { why, withoutApt: true } });
    await card.getByText(`Not managed by the agent: ${why}.`).waitFor();
    assert.equal(await card.getByRole('button', { name: 'Upgrade now' }).count(), 0);
    await checkPage(page, `operating system that is not managed, ${width} px`);
  });
});
