// How pages look: dense lists, one font from the server itself, and nothing that overlaps at a zoom of 200 %.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlatformClient } from '@platform/client';
import type { Page } from 'playwright-core';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { untilInPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { addressOf, type ScreenIds, screenPages } from '../src/screens/screen-pages.ts';
import { settle } from '../src/screens/settle.ts';

const rowsInWindow = 18;

/** Rows of the first table that fit into a window of 800 px. */
const rowsThatFit = `(() => {
  const row = document.querySelector('#content tbody tr').getBoundingClientRect();
  return Math.floor((800 - row.top - window.scrollY) / row.height);
})()`;

/** Texts of pressed or typed things whose boxes intersect. What stays in place while the page scrolls lies above it. */
const overlaps = `(() => {
  const isAbove = (one) => {
    for (let at = one; at && at.id !== 'content'; at = at.parentElement)
      if (['sticky', 'fixed'].includes(getComputedStyle(at).position)) return true;
    return false;
  };
  const boxes = [...document.querySelectorAll('#content :is(a, button, input, select, textarea)')]
    .filter((one) => one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !isAbove(one))
    .filter((one) => !one.closest('.cm-editor, [role="dialog"], .segment, .choice, .way, .query'))
    .map((one) => ({ one, box: one.getBoundingClientRect() }))
    .filter(({ box }) => box.width > 1 && box.height > 1);
  const cross = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  return boxes.flatMap(({ one, box }, at) =>
    boxes.slice(at + 1)
      .filter((other) => !one.contains(other.one) && cross(box, other.box))
      .map((other) => one.outerHTML.slice(0, 80) + ' / ' + other.one.outerHTML.slice(0, 80)));
})()`;

async function seed(client: PlatformClient, organizationId: string): Promise<ScreenIds> {
  const { machine } = await client.fleetClient.createMachine({ organizationId, name: 'barn-1' });
  const { id: machineId = '', partId = '' } = machine ?? {};
  const configJson = JSON.stringify({ agent: { advanced_settings: { debug: true } } });
  await client.fleetClient.saveConfig({ partId, configJson, comment: 'first set-up' });
  const { fragment } = await client.appClient.createFragment({ name: 'base', organizationId, configJson });
  const datasetId = await client.datasetClient.createDataset('cows at night', organizationId);
  return { machineId, datasetId, fragmentId: fragment?.id ?? '', jobId: '', imageId: '' };
}

async function seesDenseLists(page: Page, url: string, { machineId }: ScreenIds): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const path of ['machines', 'datasets', 'fragments', 'settings/keys', `machines/${machineId}/revisions`]) {
    await page.goto(`${url}/${path}`);
    await page.locator('#content tbody tr').first().waitFor();
    const rows = await page.evaluate<number>(rowsThatFit);
    assert.ok(rows >= rowsInWindow, `${path}: ${rows} rows`);
  }
}

/** Whether a hyphen is narrower than a digit: digits of one width stretch it, and "barn-1" reads as "barn - 1". */
const isHyphenNarrow = `(() => {
  const probe = document.createElement('span');
  probe.style.cssText = 'position: absolute; visibility: hidden';
  document.querySelector('#content h1').append(probe);
  const widthOf = (text) => ((probe.textContent = text), probe.getBoundingClientRect().width);
  const isNarrow = widthOf('-'.repeat(20)) < 0.85 * widthOf('0'.repeat(20));
  probe.remove();
  return isNarrow;
})()`;

/** 1280 px at 200 % are 640 px. */
async function zooms(page: Page, url: string, ids: ScreenIds): Promise<void> {
  await page.setViewportSize({ width: 640, height: 400 });
  for (const one of screenPages().filter(({ path, hasImage }) => !hasImage && !path.includes('$jobId'))) {
    await page.goto(url + addressOf(one, ids));
    await settle(page);
    assert.deepEqual(await page.evaluate(overlaps), [], one.path);
    const excess = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    assert.ok(excess <= 0, `${one.path} is ${excess} px wider than its window`);
  }
}

test('lists are dense, the font is of the server, and nothing overlaps at a zoom of 200 %', async () => {
  await using cloud = await startCloud();
  const { ready } = cloud;
  const client = clientOf(ready);
  const ids = await seed(client, ready.org_id);
  await atEachWidth({ client, widths: [1280] }, async ({ context, signIn }) => {
    const foreign: string[] = [];
    context.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol.startsWith('http') && origin !== new URL(ready.url).origin) foreign.push(request.url());
    });
    const page = await signIn();
    await untilInPage(
      page,
      `[...document.fonts].some((one) => one.family.includes('Inter') && one.status === 'loaded')`,
    );
    assert.equal(await page.evaluate(isHyphenNarrow), true);
    await seesDenseLists(page, ready.url, ids);
    await zooms(page, ready.url, ids);
    assert.deepEqual(foreign, []);
  });
});
