// Steps in the web app on a wide screen, whose states are looked at on a narrow one, too.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { PlatformClient } from '@platform/client';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from './browser.ts';
import { checkAlsoNarrow, narrowSize, type Size, watchComplaints } from './page-checks.ts';

interface Screen {
  readonly width: number;
  readonly context: BrowserContext;
  /** Opens a page at the list of machines. */
  signIn(): Promise<Page>;
}

type Steps = (screen: Screen) => Promise<void>;

const sizes: readonly Size[] = [{ width: 1280, height: 900 }, narrowSize];

/** PLATFORM_TEST_WIDTH=360: the stories run whole on the narrow screen, as at night. */
const widthOfRun = Number(process.env['PLATFORM_TEST_WIDTH'] ?? sizes[0]?.width);

/**
 * Runs the steps on a wide screen; no page may complain. Each state that `checkPage` looks at there, it looks at on the
 * narrow one, too: steps cost much, and only the ends of them look different. With `widths` the steps run whole at each
 * of these instead, where steps on the narrow screen are the point. With `t`, each width is a subtest.
 */
export async function atEachWidth(
  { client, t, widths }: { client: PlatformClient; t?: TestContext; widths?: readonly number[] },
  steps: Steps,
): Promise<void> {
  await using browser = await launchBrowser();
  const whole = sizes.filter(({ width }) => (widths ?? [widthOfRun]).includes(width));
  assert.ok(whole.length > 0, `no size of a screen has the width ${widthOfRun}`);
  for (const size of whole) {
    const run = (): Promise<void> => atSize(browser, client, { size, looksNarrow: widths === undefined }, steps);
    await (t ? t.test(`at ${size.width} px`, run) : run());
  }
}

async function atSize(
  browser: Browser,
  client: PlatformClient,
  { size, looksNarrow }: { size: Size; looksNarrow: boolean },
  steps: Steps,
): Promise<void> {
  const { width } = size;
  const context = await browser.newContext({ viewport: size });
  if (looksNarrow) checkAlsoNarrow(context);
  const complaints = watchComplaints(context);
  const signIn = async (): Promise<Page> => {
    const page = await context.newPage();
    await followSignInLink(page, (await client.sessionClient.createSignInLink({})).url);
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
    await page.goto(new URL('/machines', page.url()).href);
    await page.getByRole('heading', { name: 'Machines', exact: true }).waitFor();
    return page;
  };
  await steps({ width, context, signIn });
  assert.deepEqual(complaints, [], `at ${width} px`);
  await context.close();
}
