// LOGS by time, on a wide and on a narrow screen, in both themes: the ruler, the query, links to lines, lines around a
// hit, following, a download, and lines that are made to break pages.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { systemClock } from '@platform/kit/node';
import { clientOf, startCloud } from '../src/cloud-process.ts';
import { checkPage, untilInPage } from '../src/page-checks.ts';
import { atEachWidth } from '../src/page-widths.ts';
import { type WireLine, type WireMachine, wireMachine } from '../src/wire-callers.ts';

const minute = 60_000;
const count = 3_000;
const mostNodes = 1_500;
/** Wide letters that are longer than their column. */
const gate = `牛舎の門${'広'.repeat(60)}`;

/** A line every half minute, the last one a minute ago; a camera fails in the middle. */
function seeded(now: number): WireLine[] {
  return Array.from({ length: count }, (_, n) => {
    const at = now - minute - (count - 1 - n) * (minute / 2);
    if (n === 1_500) return { level: 'error', message: 'open /dev/video0: no such device', at, fields: [{ try: 1 }] };
    if (n === 2_990) return { level: 'info', message: '\u001b[31mcoloured\u001b[0m \u202etxt.exe\u202c', at };
    if (n === 2_991) return { level: 'warn', message: `long ${'x'.repeat(65_000)}`, at };
    return { level: n % 10 === 0 ? 'warn' : n % 3 === 0 ? 'debug' : 'info', message: `prediction ${n} of cow`, at };
  });
}

const list = (page: Page) => page.getByRole('region', { name: 'Log lines' });
const search = (page: Page) => page.getByRole('searchbox', { name: 'Search' });
const scroll = (page: Page, to: string) =>
  page.evaluate(`(() => { const list = document.querySelector('.log'); list.scrollTop = ${to}; })()`);
/** The list scrolls after it has drawn. */
const atEnd = (page: Page) =>
  untilInPage(
    page,
    `(() => { const list = document.querySelector('.log'); return list.scrollHeight - list.scrollTop - list.clientHeight < 30; })()`,
  );

/** The place of the list once it rests: a wheel scrolls over several frames. */
async function restingPlace(page: Page): Promise<number> {
  const place = await page.evaluate<number>("document.querySelector('.log').scrollTop");
  const next = await page.evaluate<number>(
    "new Promise((resolve) => setTimeout(() => resolve(document.querySelector('.log').scrollTop), 200))",
  );
  return next === place ? place : restingPlace(page);
}

/** As a browser does with the tabs that it does not show. */
const showTab = (page: Page, state: 'visible' | 'hidden') =>
  page.evaluate(`Object.defineProperty(document, 'visibilityState', { value: '${state}', configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));`);

async function follows(page: Page, machine: WireMachine, width: number): Promise<void> {
  const line = (message: string) =>
    machine.log({ level: 'info', message: `${message} ${width}`, at: systemClock.wall() });
  await page.getByText('Live', { exact: true }).waitFor();
  await list(page)
    .getByText(`prediction ${count - 1} of cow`)
    .waitFor();
  await line('followed');
  await list(page).getByText(`followed ${width}`).waitFor();
  await atEnd(page);
  await showTab(page, 'hidden');
  await page.getByText('Not live', { exact: true }).waitFor();
  await line('missed');
  await showTab(page, 'visible');
  await list(page).getByText(`missed ${width}`).waitFor();
  await atEnd(page);
  await list(page).hover();
  await page.mouse.wheel(0, -300);
  await page.getByRole('button', { name: 'To the newest line' }).waitFor();
  const place = await restingPlace(page);
  await line('not followed');
  await page.getByRole('button', { name: '1 new line: show' }).waitFor();
  assert.equal(await page.evaluate<number>("document.querySelector('.log').scrollTop"), place);
  await page.getByRole('button', { name: '1 new line: show' }).click();
  await list(page).getByText(`not followed ${width}`).waitFor();
}

async function showsHostileLines(page: Page): Promise<void> {
  await list(page).getByText('coloured \\u202etxt.exe\\u202c').waitFor();
  await list(page).getByText('… 65\u202f005 characters').waitFor();
  const nodes = await page.evaluate<number>('document.querySelectorAll("*").length');
  assert.ok(nodes <= mostNodes, `${nodes} nodes`);
}

/** Up to the first line, page by page. */
async function loadsOlder(page: Page): Promise<void> {
  // Again and again: a list that follows goes to its end when it draws, as it does under a scroll bar that is held.
  await untilInPage(
    page,
    `(() => {
      document.querySelector('.log').scrollTop = 0;
      return /(^|\\D)3\\s00\\d lines loaded/.test(document.body.innerText);
    })()`,
  );
  await scroll(page, '0');
  await list(page).getByText('prediction 1 of cow', { exact: true }).waitFor();
  assert.ok((await list(page).locator('.log-between strong').count()) >= 1, 'the date stands before the first line');
}

async function findsLine(page: Page, width: number): Promise<string> {
  await search(page).fill('"NO such" lvel:error');
  await page.locator('mark', { hasText: 'lvel:error' }).waitFor();
  await page.getByText('No lines are shown').waitFor();
  await checkPage(page, `logs with a wrong word ${width}`);
  await search(page).fill('"NO such" level:error try=1');
  await page.getByText('1 line loaded').waitFor();
  await list(page).locator('mark', { hasText: 'no such' }).waitFor();
  await list(page).getByRole('button', { expanded: false }).click();
  await page.getByRole('button', { name: 'Lines around it' }).click();
  const around = page.getByRole('region', { name: 'Lines around it, of all levels' });
  await around.getByText('prediction 1475 of cow').waitFor();
  await around.getByText('prediction 1525 of cow').waitFor();
  await around.getByRole('button', { name: '25 more above' }).click();
  await around.getByText('prediction 1450 of cow').waitFor();
  return page.url();
}

async function saves(page: Page): Promise<void> {
  const started = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
  await page.getByRole('menuitem', { name: 'As JSON lines' }).click();
  const file = await (await started).path();
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { message: string }).message),
    ['open /dev/video0: no such device'],
  );
}

/** Lines of two machines on one axis, each with its machine. */
async function showsSeveral(page: Page, { url, width }: { url: string; width: number }): Promise<void> {
  const legend = page.getByRole('list', { name: 'Machines' });
  const machineOf = (text: string) => list(page).locator('li', { hasText: text }).locator('.log-machine');
  await page.goto(`${url}/machines`);
  await page.getByRole('checkbox', { name: 'Select barn', exact: true }).check();
  await page.getByRole('link', { name: 'Logs', exact: true }).click();
  await page.getByRole('heading', { name: 'Logs of 1 machine' }).waitFor();
  await page.getByLabel('Add a machine by its name').fill(gate);
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  await page.getByRole('heading', { name: 'Logs of 2 machines' }).waitFor();
  await list(page).getByText('the gate is open').waitFor();
  assert.equal(await machineOf('the gate is open').textContent(), gate);
  assert.equal(await machineOf(`not followed ${width}`).textContent(), 'barn');
  await checkPage(page, `logs of several ${width}`);
  await page.emulateMedia({ colorScheme: 'dark' });
  await checkPage(page, `logs of several dark ${width}`);
  await page.emulateMedia({ colorScheme: 'light' });
  await page.reload();
  await search(page).fill('gate');
  await page.getByText('1 line loaded').waitFor();
  await list(page).getByRole('button', { expanded: false }).click();
  await page.getByRole('button', { name: 'Lines around it' }).click();
  const around = page.getByRole('region', { name: 'Lines around it, of all levels' });
  await around.getByText('prediction 2996 of cow').waitFor();
  await legend.getByRole('button', { name: 'Without barn' }).click();
  await page.getByRole('heading', { name: 'Logs of 1 machine' }).waitFor();
}

test('the lines of a machine are found by time, on wide and narrow screens', async () => {
  await using cloud = await startCloud();
  const client = clientOf(cloud.ready);
  const created = await client.fleetClient.createMachine({ organizationId: cloud.ready.org_id, name: 'barn' });
  const machine = await wireMachine(created.credentialsJson);
  await machine.beat();
  const now = systemClock.wall();
  await machine.logAll(seeded(now));
  const other = await client.fleetClient.createMachine({ organizationId: cloud.ready.org_id, name: gate });
  const gateMachine = await wireMachine(other.credentialsJson);
  await gateMachine.beat();
  await gateMachine.logAll([{ level: 'warn', message: 'the gate is open', at: now - 2.6 * minute }]);
  await atEachWidth({ client }, async ({ width, signIn }) => {
    const page = await signIn();
    await page.goto(`${cloud.ready.url}/machines/${created.machine?.id ?? ''}/logs`);
    await follows(page, machine, width);
    await showsHostileLines(page);
    await checkPage(page, `logs ${width}`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await checkPage(page, `logs dark ${width}`);
    await page.emulateMedia({ colorScheme: 'light' });
    await loadsOlder(page);

    const link = await findsLine(page, width);
    await checkPage(page, `logs around a hit ${width}`);
    await saves(page);
    // The link opens the line again, also without its query: in the middle of the others.
    await page.goto(link);
    await list(page).getByRole('button', { expanded: true }).waitFor();
    await search(page).fill('');
    await list(page).getByText('prediction 1501 of cow').waitFor();

    // A drag over the ruler chooses a time, which the URL keeps.
    await page.goto(`${cloud.ready.url}/machines/${created.machine?.id ?? ''}/logs?range=6h&zone=utc`);
    const ruler = page.locator('.log-ruler-field');
    await ruler.locator('.log-ruler-visible').waitFor();
    const box = await ruler.boundingBox();
    assert.ok(box);
    await page.mouse.move(box.x + box.width / 4, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width / 2, box.y + 20, { steps: 4 });
    await page.mouse.up();
    await page.getByLabel('Until', { exact: true }).waitFor();
    await page.getByText(/^1[78]\d lines loaded$/).waitFor();
    const { searchParams } = new URL(page.url());
    const chosen = Number(searchParams.get('until')) - Number(searchParams.get('from'));
    assert.ok(Math.abs(chosen - 90 * minute) < 5 * minute, `${chosen} ms`);
    await checkPage(page, `logs of a time ${width}`);
    const label = await page.locator('.log-ruler-axis span').last().boundingBox();
    const axis = await page.locator('.log-ruler-axis').boundingBox();
    assert.ok(label && axis && label.x + label.width <= axis.x + axis.width, 'the last label is not cut');
    await page.goBack();
    await page.getByText(/^7\d\d lines loaded$|^200 lines loaded$/).waitFor();
    await showsSeveral(page, { url: cloud.ready.url, width });
  });
});
