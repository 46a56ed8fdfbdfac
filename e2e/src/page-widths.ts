// Steps in the web app on a wide and on a narrow screen.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { PlatformClient } from '@platform/client';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { followSignInLink, launchBrowser } from './browser.ts';
import { watchComplaints } from './page-checks.ts';

interface Screen {
  readonly width: number;
  readonly context: BrowserContext;
  /** Opens a page at the list of machines. */
  signIn(): Promise<Page>;
}

type Steps = (screen: Screen) => Promise<void>;
type Size = Readonly<Record<'width' | 'height', number>>;

const sizes: readonly Size[] = [
  { width: 1280, height: 900 },
  { width: 360, height: 740 },
];

/** Runs the steps at each width, or at the given ones; no page may complain. With `t`, each width is a subtest. */
export async function atEachWidth(
  { client, t, widths }: { client: PlatformClient; t?: TestContext; widths?: readonly number[] },
  steps: Steps,
): Promise<void> {
  await using browser = await launchBrowser();
  for (const size of sizes.filter(({ width }) => widths?.includes(width) ?? true)) {
    const run = (): Promise<void> => atSize(browser, client, size, steps);
    await (t ? t.test(`at ${size.width} px`, run) : run());
  }
}

async function atSize(browser: Browser, client: PlatformClient, size: Size, steps: Steps): Promise<void> {
  const { width } = size;
  const context = await browser.newContext({ viewport: size });
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
