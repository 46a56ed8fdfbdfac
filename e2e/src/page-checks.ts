import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { systemClock } from '@platform/kit/node';
import type { BrowserContext, Locator, Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

const settled = `Promise.all(document.getAnimations()
  .filter((one) => one.effect.getTiming().iterations !== Infinity)
  .map((one) => one.finished.catch(() => undefined))).then(() => undefined)`;

/**
 * Waits until an expression is true in the page, for half a minute. The page's policy forbids the compiled code that
 * Playwright's own waiting for an expression needs from its second try on.
 */
export async function untilInPage(page: Page, expression: string): Promise<void> {
  const end = systemClock.now() + 30_000;
  while (!(await page.evaluate<boolean>(expression))) {
    assert.ok(systemClock.now() < end, expression);
    await systemClock.sleep(100);
  }
}

export type Size = Readonly<Record<'width' | 'height', number>>;

/** The narrowest screen that the web app supports. */
export const narrowSize: Size = { width: 360, height: 740 };

const looksNarrow = new WeakSet<BrowserContext>();

/** From now on `checkPage` looks at the pages of this context on the narrow screen, too. */
export const checkAlsoNarrow = (context: BrowserContext): void => void looksNarrow.add(context);

/**
 * Fails if axe finds an accessibility violation, if the page is wider than its window, or if the tab of the shown page is
 * out of view.
 * PLATFORM_TEST_SCREENSHOTS=FOLDER: saves the page there, for a look.
 */
export async function checkPage(page: Page, what: string): Promise<void> {
  await checkAsItIs(page, what);
  const wide = page.viewportSize();
  if (!looksNarrow.has(page.context()) || wide === null || wide.width <= narrowSize.width) return;
  await resize(page, narrowSize);
  await checkAsItIs(page, `${what}, narrow`);
  await resize(page, wide);
}

/** The page follows its new size within two frames. */
async function resize(page: Page, size: Size): Promise<void> {
  await page.setViewportSize(size);
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
}

async function checkAsItIs(page: Page, what: string): Promise<void> {
  // The page must be static: text that fades in has too little contrast for a moment.
  await page.evaluate(settled);
  await page.evaluate(axe);
  await page.evaluate(watchMoves);
  let violations = await violationsOf(page);
  if (violations.length > 0 && (await page.evaluate<boolean>('window.hasMoved'))) {
    // A page that comes in several tasks may begin to fade in while axe looks: what is a barrier stays one.
    await page.evaluate(settled);
    violations = await violationsOf(page);
  }
  const found = violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}\n  ${failureSummary}`),
  );
  assert.deepEqual(found, [], `${what}: barriers`);
  const excess = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
  assert.ok(excess <= 0, `${what} is ${excess} px wider than its window`);
  assert.ok(await page.evaluate<boolean>(isTabShown), `${what}: the tab of the page is out of view`);
  const folder = process.env['PLATFORM_TEST_SCREENSHOTS'];
  if (folder === undefined) return;
  const name = `${what.replaceAll(/[^a-z0-9]+/gi, '-')}-${page.viewportSize()?.width ?? 0}.png`;
  await page.screenshot({ path: `${folder}/${name}`, fullPage: true });
}

/** Notes whether something begins to move or to fade from now on. */
const watchMoves = `(() => {
  window.hasMoved = false;
  for (const kind of ['animationstart', 'transitionrun'])
    document.addEventListener(kind, () => void (window.hasMoved = true), { once: true, capture: true });
})()`;

const isTabShown = `(() => {
  const tab = document.querySelector('.tabs > [aria-current]')?.getBoundingClientRect();
  return tab === undefined || (tab.left >= 0 && tab.right <= window.innerWidth);
})()`;

/** axe fails if the page replaces an element while it looks, for example when the checks of a form come back. */
async function violationsOf(page: Page, triesLeft = 3): Promise<Violation[]> {
  try {
    return await page.evaluate<Violation[]>('axe.run().then((result) => result.violations)');
  } catch (error) {
    if (triesLeft === 0) throw error;
    await page.evaluate(settled);
    return violationsOf(page, triesLeft - 1);
  }
}

/** The editor of a configuration comes when the user turns to it. */
export async function openJson(page: Page): Promise<Locator> {
  await page.locator('.editor-card').hover();
  const editor = page.locator('.cm-content');
  await editor.waitFor();
  return editor;
}

/** Collects the errors of a page, except the server answers that the test provokes. */
export function watchComplaints(context: BrowserContext): string[] {
  const complaints: string[] = [];
  context.on('weberror', (error) => complaints.push(error.error().message));
  context.on('console', (message) => {
    const isAnswer = message.text().startsWith('Failed to load resource');
    if ((message.type() === 'error' || message.type() === 'warning') && !isAnswer) complaints.push(message.text());
  });
  return complaints;
}
