/**
 * Measures the web app with a large fleet and a long log: queries of the list, what its pages cost in a browser, and
 * searches in the lines of one machine. Writes docs/measurements/web.md.
 * node e2e/bench/web.ts [--machines=10000] [--agents=1000] [--lines=1000000] [--rounds=20] [--no-file]
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@platform/kit/node';
import type { Browser, BrowserContext } from 'playwright-core';
import { followSignInLink, launchBrowser } from '../src/browser.ts';
import { buildWeb } from '../src/build-web.ts';
import { clientOf } from '../src/cloud-process.ts';
import { FleetLab } from '../src/fleet-lab.ts';
import { meter } from '../src/meter.ts';
import { thisHost, today } from '../src/this-host.ts';
import { checkout } from '../src/up-process.ts';
import { fillLines, fillReports } from './filled-fleet.ts';
import { Fleet } from './fleet-agents.ts';
import { type CallFigures, measureList, measureSearches } from './web-calls.ts';
import { type OpenedPage, openPage, scrollLogs } from './web-pages.ts';

const { values: flags } = parseArgs({
  options: {
    machines: { type: 'string', default: '10000' },
    agents: { type: 'string' },
    lines: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '20' },
    'idle-seconds': { type: 'string', default: '60' },
    'no-file': { type: 'boolean', default: false },
  },
});
const machines = Number(flags.machines);
const lines = Number(flags.lines);
const rounds = Number(flags.rounds);
const idleSeconds = Number(flags['idle-seconds']);
const fewer = Math.ceil(machines / 10);
const agents = Number(flags.agents ?? Math.min(1_000, fewer));
const throttle = 4;
const mostLoaded = 100_000;
const say = (text: string): boolean => process.stdout.write(`${text}\n`);
const load = (): string => readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
const loadBefore = load();

const ms = (value: number): string => `${value.toFixed(0)} ms`;
const grouped = (value: number): string => value.toLocaleString('en');
const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;

/** The tables of the file, printed as they come. */
const text: string[] = [];
function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const part = [`## ${title}`, '', row(head), row(head.map(() => '---')), ...rows.map(row), ''];
  text.push(...part);
  say(part.join('\n'));
}
function sentence(line: string): void {
  text.push(line, '');
  say(`${line}\n`);
}

interface Lab {
  lab: FleetLab;
  /** The machine with many lines. */
  machineId: string;
  partId: string;
}

/** Queries of the whole fleet, beside the same of a tenth of it. */
function listTable(few: readonly CallFigures[], all: readonly CallFigures[]): void {
  const cells = all.map(({ what, cpu, p99, wall, bytes }, index) => {
    const before = few[index]?.cpu ?? cpu;
    return [what, ms(cpu), ms(p99), ms(before), `${(cpu / Math.max(before, 0.1)).toFixed(1)} ×`, ms(wall), kib(bytes)];
  });
  const head = ['call', 'median', 'p99', `median of ${grouped(fewer)}`, 'ratio', 'wall', 'answer as JSON'];
  table(`Queries of ${grouped(machines)} machines`, head, cells);
  sentence(
    `Processor of server and database together, of ${rounds} calls after a first one; it includes what ${grouped(agents)} agents that talk cost meanwhile. Aim: at most 100 ms.`,
  );
}

/** Pages whose content begins with an element, and the first one that has none of a fleet. */
const emptyPage = { what: 'scripts (empty)', path: '/scripts', selector: 'main h1' };
const pagesOf = (machineId: string) => [
  { what: 'list of machines', path: '/machines', selector: 'tbody .row-link' },
  { what: 'list, a query', path: '/machines?q=tag%3Abarn', selector: 'tbody .row-link' },
  { what: 'LOGS', path: `/machines/${machineId}/logs`, selector: '.log-line' },
  { what: 'CONFIGURE', path: `/machines/${machineId}/configure`, selector: '.tabs ~ *' },
  { what: 'NETWORK', path: `/machines/${machineId}/network`, selector: '.tabs ~ *' },
  { what: 'REVISIONS', path: `/machines/${machineId}/revisions`, selector: '.tabs ~ *' },
  { what: 'CONNECT', path: `/machines/${machineId}/connect`, selector: '.tabs ~ *' },
  ...['machines/add', 'training', 'training/new', 'datasets', 'models', 'fragments', 'runners', 'settings'].map(
    (one) => ({ what: one, path: `/${one}`, selector: 'main h1' }),
  ),
  emptyPage,
];

interface InBrowser {
  browser: Browser;
  context: BrowserContext;
  origin: string;
  machineId: string;
}

/** Each page as it is, then the list and LOGS with a slower processor. */
async function measurePages({ browser, context, origin, machineId }: InBrowser): Promise<void> {
  const rows: (readonly string[])[] = [];
  const open = async (one: { path: string; selector: string }, rate: number): Promise<OpenedPage> => {
    const { page, opened } = await openPage({
      browser,
      context,
      url: origin + one.path,
      selector: one.selector,
      throttle: rate,
    });
    await page.close();
    return opened;
  };
  const base = await open(emptyPage, 1);
  const slowBase = await open(emptyPage, throttle);
  const line = (what: string, found: OpenedPage, beside: OpenedPage): void => {
    const cells = [
      what,
      ms(found.wallMs),
      `${(found.wallMs / beside.wallMs).toFixed(1)} ×`,
      ms(found.browserMs),
      `${(found.browserMs / Math.max(1, beside.browserMs)).toFixed(1)} ×`,
      `${ms(found.longestTaskMs)}, ${ms(found.longestTaskCpuMs)}`,
      String(found.nodes),
      found.shift.toFixed(3),
      kib(found.scriptBytes),
    ];
    rows.push(cells);
    say(cells.join('  '));
  };
  for (const one of pagesOf(machineId)) line(one.what, await open(one, 1), base);
  for (const one of [...pagesOf(machineId).slice(0, 3), emptyPage])
    line(`${one.what}, processor ${throttle} × slower`, await open(one, throttle), slowBase);
  const ratio = 'of an empty page';
  const head = ['page', 'first rows', ratio, 'processor', ratio, 'longest task', 'nodes', 'shift', 'scripts (gzip)'];
  table('Pages', head, rows);
  sentence(
    'Processor: of all processes of the browser, until the page rests. Longest task: of the thread of the page, its time (of those above 50 ms) and its processor. Aims: first rows within 1 s and tasks of at most 100 ms also on a processor four times slower, 1,500 nodes, a layout shift of 0.02, 200 KiB of scripts.',
  );
}

/** What open pages send and receive while no user touches them. */
async function measureIdle(of: InBrowser, wire: { bytes(): number }): Promise<void> {
  const rows: string[][] = [];
  for (const [index, seconds] of [
    [0, idleSeconds],
    [2, idleSeconds / 2],
  ] as const) {
    const { what = '', path: at = '', selector = '' } = pagesOf(of.machineId)[index] ?? {};
    const { page } = await openPage({ ...of, url: of.origin + at, selector, throttle: 1 });
    await systemClock.sleep(3_000);
    const before = wire.bytes();
    await systemClock.sleep(seconds * 1_000);
    rows.push([what, `${((wire.bytes() - before) / seconds).toFixed(0)} B/s`]);
    await page.close();
  }
  table('At rest', ['page', 'on the wire'], rows);
  sentence(
    `Both directions with headers, over ${idleSeconds} s, LOGS over half of it; agents go on talking. Aim: at most 1 kB/s.`,
  );
}

async function measureLogList(of: InBrowser): Promise<void> {
  const wanted = Math.min(lines, mostLoaded);
  const rows: string[][] = [];
  for (const rate of [1, throttle]) {
    const one = { url: `${of.origin}/machines/${of.machineId}/logs`, selector: '.log-line' };
    const { page } = await openPage({ ...of, ...one, throttle: rate });
    const found = await scrollLogs(page, wanted);
    const times = [found.loadedMs, found.loadingLongestMs, found.scrollingLongestMs].map(ms);
    rows.push([rate === 1 ? 'as it is' : `${rate} × slower`, ...times, String(found.nodes)]);
    await page.close();
  }
  const head = ['processor', 'until loaded', 'longest task meanwhile', 'longest task of scrolling', 'nodes'];
  table(`LOGS with ${grouped(wanted)} lines loaded`, head, rows);
}

async function inBrowser({ lab, machineId }: Lab): Promise<void> {
  await using proxy = await meter(lab.ready.url);
  const browser = await launchBrowser();
  try {
    const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
    const link = new URL((await clientOf(lab.ready).sessionClient.createSignInLink({})).url);
    link.host = new URL(proxy.url).host;
    const first = await context.newPage();
    await followSignInLink(first, link.href);
    await first.close();
    const of = { browser, context, origin: proxy.url, machineId };
    await measurePages(of);
    await measureIdle(of, { bytes: () => proxy.tally([]).bytes });
    await measureLogList(of);
  } finally {
    await browser.close();
  }
}

async function measureLines({ lab, partId }: Lab): Promise<void> {
  const found = await measureSearches(lab, partId, rounds);
  const plain = found[0]?.cpu ?? 1;
  table(
    `Searches in ${grouped(lines)} lines of a machine`,
    ['search', 'median', 'of the newest lines', 'p99', 'wall', 'lines'],
    found.map(({ what, cpu, p99, wall, lines: count }) => [
      what,
      ms(cpu),
      `${(cpu / Math.max(plain, 0.1)).toFixed(1)} ×`,
      ms(p99),
      ms(wall),
      grouped(count),
    ]),
  );
}

async function bench(): Promise<void> {
  buildWeb();
  await using lab = await FleetLab.open();
  const first = await lab.machines(fewer);
  await fillReports(lab);
  const fleet = new Fleet(lab.ready.url, first.slice(0, agents));
  await fleet.start();
  while (fleet.served < Math.min(agents, first.length)) await systemClock.sleep(50);
  const few = await measureList(lab, rounds);
  await lab.machines(machines - fewer);
  await fillReports(lab);
  listTable(few, await measureList(lab, rounds));
  const partId = first[0]?.partId ?? '';
  await fillLines(lab, partId, lines);
  const [row] = await lab.sql<{ machineId: string }>('select machine_id as "machineId" from part where id = $1', [
    partId,
  ]);
  const of = { lab, partId, machineId: row?.machineId ?? '' };
  await measureLines(of);
  await inBrowser(of);
  await fleet.stop();
  write();
}

function write(): void {
  if (flags['no-file']) return;
  const head = `Written by \`npm run bench:web\` on ${today()}. ${thisHost()}; load ${loadBefore} before, ${load()} at the end. ${grouped(machines)} machines, of which ${grouped(agents)} simulated agents hold a check; server, database, agents and browser share the machine. Processor times and ratios are the figures to trust; wall times grow with whatever else the machine does.`;
  const file = path.join(checkout, 'docs', 'measurements', 'web.md');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, ['# The web app with a large fleet, measured', '', head, '', ...text].join('\n'));
  say(`written: ${path.relative(checkout, file)}`);
}

await bench();
