// What pages of the web app cost in a browser: until their first rows, at rest, and while they scroll.
import { gzipSync } from 'node:zlib';
import { systemClock } from '@platform/kit/node';
import type { Browser, BrowserContext, CDPSession, Page } from 'playwright-core';

/** Counts long tasks and shifts of the layout, and when something is drawn first. */
const watching = (selector: string): string => `(() => {
  const found = { longest: 0, shift: 0, drawnAt: 0 };
  window.measured = found;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) found.longest = Math.max(found.longest, duration);
  }).observe({ type: 'longtask', buffered: true });
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) found.shift += value;
  }).observe({ type: 'layout-shift', buffered: true });
  const look = () => {
    if (document.querySelector(${JSON.stringify(selector)})) found.drawnAt = performance.now();
    else requestAnimationFrame(look);
  };
  look();
})()`;

interface InPage {
  longest: number;
  shift: number;
  drawnAt: number;
}
const measuredIn = (page: Page): Promise<InPage> => page.evaluate<InPage>('window.measured');

export interface OpenedPage {
  /** From the start of the navigation to the first element of the page's content. */
  wallMs: number;
  /** Processor of the browser's processes until the page rests. */
  browserMs: number;
  longestTaskMs: number;
  /** Processor of the longest task, whatever else the host does meanwhile. */
  longestTaskCpuMs: number;
  shift: number;
  nodes: number;
  scriptBytes: number;
}

/** Processor time of all processes of the browser. */
async function browserCpuMs(session: CDPSession): Promise<number> {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  return processInfo.reduce((sum, { cpuTime }) => sum + cpuTime * 1_000, 0);
}

interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  /** Processor of the thread, µs. */
  tdur?: number;
  args?: { name?: string };
}

/** Processor of the longest task of the threads that draw pages. */
function longestCpuMs(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString('utf8')) as { traceEvents: TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent): string => `${pid} ${tid}`;
  const drawing = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map((event) => threadOf(event)),
  );
  return traceEvents
    .filter((event) => event.name.endsWith('RunTask') && drawing.has(threadOf(event)))
    .reduce((most, { tdur = 0 }) => Math.max(most, tdur / 1_000), 0);
}

const restMs = 1_500;
const longestMs = 60_000;

/** Waits until a condition holds in the page. */
async function until(page: Page, condition: string): Promise<void> {
  const end = systemClock.now() + longestMs;
  while (!(await page.evaluate<boolean>(condition))) {
    if (systemClock.now() > end)
      throw new Error(`in ${page.url()}, this is not so after ${longestMs} ms: ${condition}`);
    await systemClock.sleep(20);
  }
}

interface Opening {
  browser: Browser;
  context: BrowserContext;
  url: string;
  /** The first element of the page's content. */
  selector: string;
  /** How many times slower the processor of the page is made. */
  throttle: number;
}

/** Opens a page in a tab of its own, and waits until it rests. The caller closes the tab. */
export async function openPage(of: Opening): Promise<{ page: Page; opened: OpenedPage }> {
  const page = await of.context.newPage();
  const session = await of.context.newCDPSession(page);
  const whole = await of.browser.newBrowserCDPSession();
  const scripts: Promise<number>[] = [];
  page.on('response', (answer) => {
    if (answer.request().resourceType() === 'script' && answer.ok())
      scripts.push(answer.body().then((bytes) => gzipSync(bytes, { level: 9 }).length));
  });
  await page.addInitScript(watching(of.selector));
  await session.send('Emulation.setCPUThrottlingRate', { rate: of.throttle });
  await of.browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  const before = await browserCpuMs(whole);
  await page.goto(of.url, { waitUntil: 'commit' });
  await until(page, 'window.measured.drawnAt > 0');
  await systemClock.sleep(restMs * of.throttle);
  const browserMs = (await browserCpuMs(whole)) - before;
  const longestTaskCpuMs = longestCpuMs(await of.browser.stopTracing());
  const { longest, shift, drawnAt } = await measuredIn(page);
  const nodes = await page.evaluate<number>('document.querySelectorAll("*").length');
  const sizes = await Promise.all(scripts);
  return {
    page,
    opened: {
      wallMs: drawnAt,
      browserMs,
      longestTaskMs: longest,
      longestTaskCpuMs,
      shift,
      nodes,
      scriptBytes: sizes.reduce((sum, size) => sum + size, 0),
    },
  };
}

/** Loads lines above until that number is loaded, as a user does who scrolls up, and scrolls through them. */
export async function scrollLogs(
  page: Page,
  lines: number,
): Promise<{ loadedMs: number; loadingLongestMs: number; scrollingLongestMs: number; nodes: number }> {
  const reset = 'void (window.measured.longest = 0)';
  const started = systemClock.now();
  await page.evaluate(reset);
  await page.hover('.log');
  await page.mouse.wheel(0, -400);
  await until(
    page,
    `(() => {
      document.querySelector('.log').scrollTop = 0;
      const text = [...document.querySelectorAll('[role=status]')].map((one) => one.textContent).join(' ');
      return Number((/([\\d\\s\\u202f]+) lines? loaded/.exec(text)?.[1] ?? '0').replaceAll(/\\D/g, '')) >= ${lines};
    })()`,
  );
  const loadedMs = systemClock.now() - started;
  const { longest: loadingLongestMs } = await measuredIn(page);
  await page.evaluate(reset);
  await page.evaluate(`new Promise((resolve) => {
    const list = document.querySelector('.log');
    let step = 0;
    const scroll = () => {
      list.scrollTop = (list.scrollHeight * step) / 300;
      step += 1;
      if (step <= 300) requestAnimationFrame(scroll);
      else resolve();
    };
    scroll();
  })`);
  const { longest: scrollingLongestMs } = await measuredIn(page);
  const nodes = await page.evaluate<number>('document.querySelectorAll("*").length');
  return { loadedMs, loadingLongestMs, scrollingLongestMs, nodes };
}
