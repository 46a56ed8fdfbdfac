import { systemClock } from '@platform/kit/node';
import type { Page } from 'playwright-core';

/** There is a page, nothing in it loads, its images are there and nothing moves. */
const isSettled = `document.querySelector('h1, .label-page, main img') !== null
  && document.querySelector('.spinner, .skeleton') === null
  && [...document.images].every((one) => one.complete || one.getBoundingClientRect().top > innerHeight)
  && document.fonts.status === 'loaded'
  && document.getAnimations().every((one) => one.effect.getTiming().iterations === Infinity)`;

/** Waits until a page looks the same twice in a row, for 15 s at most: some pages wait for a machine for ever. */
export async function settle(page: Page): Promise<void> {
  const end = systemClock.now() + 15_000;
  let before: string | undefined;
  while (systemClock.now() < end) {
    await systemClock.sleep(60);
    const text = await page.evaluate<string | undefined>(
      `${isSettled} ? document.body.innerText.replace(/\\d+/g, '') : undefined`,
    );
    if (text !== undefined && text === before) return;
    before = text;
  }
}
