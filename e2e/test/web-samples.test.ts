// How the app shows what a machine used, on a wide and on a narrow screen, and a link to one that is gone. The test
// simulates the machine.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '@platform/kit/node';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { wireMachine } from '../src/wire-callers.ts';

test('machines are filtered, and the page of one shows what it used over the last day and week', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const created = await client.fleetClient.createMachine({ organizationId: ready.org_id, name: 'pump' });
  const { id = '' } = created.machine ?? {};
  const machine = await wireMachine(created.credentialsJson);
  const count = 600;
  await machine.check(
    { facts: { architecture: 'x86_64', disk: { sizeBytes: 10n, freeBytes: 1n } } },
    {
      spoolId: 'a',
      firstSequence: 1n,
      start: BigInt(Math.floor(systemClock.wall() / 1000) - count * 60),
      samples: Array.from({ length: count }, (_, n) => ({
        seconds: n * 60,
        processorPermille: n,
        temperatureTenths: 400 + (n % 50),
        receivedBytesPerSecond: BigInt(n * 1000),
        sentBytesPerSecond: 10n,
      })),
    },
  );
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const page = await signIn();
    const filter = page.getByLabel('Filter');
    await filter.fill('architecture=aarch64');
    await page.getByText('No machine matches').waitFor();
    await filter.fill('arch=aarch64');
    await page.getByText(/machines have no field "arch"/).waitFor();
    await filter.fill('architecture=x86_64, disk_free<2GB');
    await page.getByRole('link', { name: 'pump' }).waitFor();
    await checkPage(page, `filter of machines, ${width} px`);
    await page.goto(`${ready.url}/machines/${id}/overview`);
    const card = page.getByRole('region', { name: 'Use' });
    await card
      .getByRole('img', { name: /^Processor in the last 24 hours: newest 59\.\d %; from \d\.\d % to/ })
      .waitFor();
    await card.getByRole('img', { name: /^Temperature in the last 24 hours: newest 44\.\d °C/ }).waitFor();
    await card.getByRole('img', { name: /^Network in .*: newest in .* kB\/s, out 10 B\/s/ }).waitFor();
    await card.getByRole('img', { name: 'Memory: nothing was measured in the last 24 hours' }).waitFor();
    await card.getByText('Values as a table').click();
    await card
      .getByRole('row', { name: /59\.\d %/ })
      .first()
      .waitFor();
    await checkPage(page, `samples, ${width} px`);
    await card.getByRole('link', { name: '7 d' }).click();
    await card.getByRole('img', { name: /^Processor in the last 7 days: newest/ }).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('range'), '7d');
    await page.reload();
    await card.getByRole('img', { name: /^Processor in the last 7 days: newest/ }).waitFor();
    for (const path of ['machines', 'training']) {
      await page.goto(`${ready.url}/${path}/${randomUUID()}`);
      await page.getByText('NOT_FOUND').waitFor();
      // Longer than the page waits between two refreshes.
      await systemClock.sleep(1_500);
      assert.equal(await page.getByText('NOT_FOUND').isVisible(), true, `${path}: it is still there`);
    }
  });
});
