/**
 * Measures a fleet against the real management server: memory per connected agent, CPU per check, log lines per second.
 * Also measures a restart of the server, after which all agents reconnect, and a release that changes every answer.
 * Writes docs/measurements/fleet.md.
 * node e2e/bench/fleet.ts [--agents=10000] [--log-machines=200] [--log-calls=20] [--only-logs] [--no-file]
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { longestHoldMs } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { cpuMs, FleetLab, rssMib } from '../src/fleet-lab.ts';
import { checkout } from '../src/up-process.ts';
import { thisHost, today } from '../src/this-host.ts';
import { Fleet } from './fleet-agents.ts';
import { type LogFigures, measureLogs } from './fleet-logs.ts';

const { values: flags } = parseArgs({
  options: {
    agents: { type: 'string', default: '10000' },
    'log-machines': { type: 'string', default: '200' },
    'log-calls': { type: 'string', default: '20' },
    'only-logs': { type: 'boolean', default: false },
    'no-file': { type: 'boolean', default: false },
  },
});
const agents = Number(flags.agents);
const say = (text: string): boolean => process.stdout.write(`${text}\n`);
const load = (): string => readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
const loadBefore = load();

interface Row {
  what: string;
  found: string;
  aim: string;
}
const table: Row[] = [];
const row = (what: string, found: string, aim = '–'): void => {
  table.push({ what, found, aim });
  say(`${what.padEnd(64)} ${found}`);
};

const at = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
};
const spread = (values: readonly number[]): string =>
  `p50 ${Math.round(at(values, 0.5))} ms, p99 ${Math.round(at(values, 0.99))} ms`;
const failuresText = (failures: ReadonlyMap<string, number>): string =>
  failures.size === 0 ? 'none' : [...failures].map(([what, count]) => `${what} × ${count}`).join(', ');

/** Measures the CPU time of server and database from now on. */
function cpuFrom(lab: FleetLab): () => { server: number; database: number } {
  const { pid, databaseCpuMs } = lab;
  const server = cpuMs([pid]);
  return () => ({ server: cpuMs([pid]) - server, database: lab.databaseCpuMs - databaseCpuMs });
}
async function untilServed(fleet: Fleet): Promise<number> {
  const started = systemClock.now();
  while (fleet.served < agents) await systemClock.sleep(20);
  return (systemClock.now() - started) / 1000;
}
const seconds = (value: number): string => `${value.toFixed(1)} s`;
const us = (ms: number, count: number): string => `${((ms * 1000) / count).toFixed(0)} µs`;

/** @param before - MiB without agents. */
function memory(what: string, lab: FleetLab, before: number, aim = '≤ 25 KiB'): void {
  const now = rssMib(lab.pid);
  const each = ((now - before) * 1024) / agents;
  row(what, `${Math.round(before)} → ${Math.round(now)} MiB: ${each.toFixed(1)} KiB per agent`, aim);
}

async function connected(lab: FleetLab): Promise<{ fleet: Fleet; beforeMib: number }> {
  // One-time allocations for the first machines must not count as memory per machine.
  const first = new Fleet(lab.ready.url, await lab.machines(200));
  await first.start();
  await systemClock.sleep(3_000);
  await first.stop();
  await lab.collectGarbage();
  await systemClock.sleep(1_000);
  const before = rssMib(lab.pid);
  const fleet = new Fleet(lab.ready.url, await lab.machines(agents));
  await lab.sql('analyze');
  const cpu = cpuFrom(lab);
  const started = systemClock.now();
  await fleet.start();
  await untilServed(fleet);
  const { server, database } = cpu();
  row(
    'all agents sign in and get their configuration',
    `${seconds((systemClock.now() - started) / 1000)}; CPU ${us(server, agents)} server, ${us(database, agents)} database each`,
  );
  await systemClock.sleep(15_000);
  memory('memory of the server, all checks held, 15 s after all have signed in', lab, before, '–');
  await systemClock.sleep(longestHoldMs + 5_000);
  memory('… after the first minute of checks', lab, before, '–');
  await lab.collectGarbage();
  await systemClock.sleep(1_000);
  memory('… without garbage', lab, before);
  const alone = rssMib(lab.pid);
  const second = Math.min(agents, 4_000);
  await fleet.askForRestarts(second);
  await systemClock.sleep(5_000);
  await lab.collectGarbage();
  await systemClock.sleep(1_000);
  row(
    '… with a second connection each, as for logs and reports, without garbage before and after',
    `${(((rssMib(lab.pid) - alone) * 1024) / second).toFixed(1)} KiB more per agent while it is open`,
  );
  fleet.closeOthers();
  return { fleet, beforeMib: before };
}

const steadyMs = 2 * longestHoldMs;

async function steady(lab: FleetLab, fleet: Fleet): Promise<void> {
  fleet.forget();
  const cpu = cpuFrom(lab);
  await systemClock.sleep(steadyMs);
  const { server, database } = cpu();
  const { answers, failures } = fleet.counts;
  row(
    `held checks of ${longestHoldMs / 1000} s, ${answers} of them`,
    `CPU ${us(server, answers)} server, ${us(database, answers)} database each; failures: ${failuresText(failures)}`,
  );
  row('… CPU for all agents', `${((server / steadyMs) * 100).toFixed(1)} % of a core`);
}

/** Kills and restarts the server; every agent reconnects. */
async function measureReconnects(lab: FleetLab, fleet: Fleet, spanMs: number, beforeMib: number): Promise<void> {
  fleet.comeBackWithinMs = spanMs;
  await lab.kill();
  await lab.start();
  fleet.forget();
  const cpu = cpuFrom(lab);
  const taken = await untilServed(fleet);
  const { server, database } = cpu();
  row(
    `restart: all are served again, coming back within ${spanMs / 1000} s`,
    `${seconds(taken)}; answers ${spread(fleet.counts.waits)}; failures: ${failuresText(fleet.counts.failures)}`,
    `${spanMs / 1000} s and a little, no failure`,
  );
  row('… CPU', `${us(server, agents)} server, ${us(database, agents)} database each, with the start of the server`);
  await systemClock.sleep(15_000);
  memory('… memory of the server then, all checks held', lab, beforeMib);
}

/** All machines follow stable, and stable moves to another release. */
async function fanOut(lab: FleetLab, fleet: Fleet): Promise<void> {
  fleet.forget();
  const cpu = cpuFrom(lab);
  const started = systemClock.now();
  await lab.sql(
    `insert into release (name, version, platform, sha256, size_bytes)
     values ('platform-server', '9.0.0', 'linux/amd64', sha256('x'::bytea), 1000)`,
  );
  await lab.sql(`insert into release_channel (name, channel, version) values ('platform-server', 'stable', '9.0.0')`);
  await lab.sql(`insert into change (kind, key) values ('release', 'platform-server')`);
  while (fleet.counts.whole < agents) await systemClock.sleep(20);
  const { server, database } = cpu();
  row(
    'a new release reaches all agents',
    `${seconds((systemClock.now() - started) / 1000)}, 1000 a second by design; CPU ${us(server, agents)} server, ${us(database, agents)} database each`,
  );
}

async function logs(lab: FleetLab): Promise<void> {
  const members = await lab.machines(Number(flags['log-machines']));
  await measureLogs(lab, members, 2, 0);
  const calls = Number(flags['log-calls']);
  logRows('log lines', await measureLogs(lab, members, calls, 0));
  // A machine was offline for longer than log lines are kept: the partition of their day is closed.
  logRows('log lines of 40 days ago', await measureLogs(lab, members, calls, 40 * 24 * 3_600_000));
}

function logRows(what: string, found: LogFigures): void {
  const total = found.lines + found.repeated;
  row(
    `${what} of ${found.machines} machines, 100 a call`,
    `${Math.round(total / found.seconds)} a second over ${seconds(found.seconds)}; answers ${spread(found.waits)}`,
    '50,000 on 2 cores',
  );
  const perLine = found.serverUsPerLine + found.databaseUsPerLine;
  row(
    '… CPU per line',
    `${found.serverUsPerLine.toFixed(1)} µs server, ${found.databaseUsPerLine.toFixed(1)} µs database: ${Math.round(2e6 / perLine / 1000)},000 a second would fill 2 cores`,
    '≤ 40 µs',
  );
  row(
    `… of ${found.lines} lines, and ${found.repeated} sent again`,
    `${found.lost} lost, ${found.twice} stored twice`,
    'none',
  );
}

async function bench(): Promise<void> {
  if (!flags['only-logs']) await withAgents();
  {
    await using lab = await FleetLab.open();
    await logs(lab);
  }
  if (!flags['only-logs']) write();
}

async function withAgents(): Promise<void> {
  await using lab = await FleetLab.open();
  const { fleet, beforeMib } = await connected(lab);
  await steady(lab, fleet);
  await measureReconnects(lab, fleet, 30_000, beforeMib);
  await measureReconnects(lab, fleet, 1_000, beforeMib);
  await fanOut(lab, fleet);
  await fleet.stop();
}

function write(): void {
  const lines = [
    '# A fleet on one management server, measured',
    '',
    `Written by \`npm run bench:fleet\` on ${today()}. ${thisHost()}; load ${loadBefore} before, ${load()} at the end. Server, database and ${agents.toLocaleString('en')} simulated agents share the machine, each agent with a connection of its own.`,
    '',
    'CPU time is the figure to trust; seconds, and milliseconds of answers, grow with whatever else the machine does.',
    '',
    '| | found | aim |',
    '|---|---|---|',
    ...table.map(({ what, found, aim }) => `| ${what} | ${found} | ${aim} |`),
    '',
    'Memory is what the process has from the system, with the garbage that has not been collected yet, unless stated otherwise. V8 keeps the pages that many reconnects at once filled, so the server collects garbage once when it becomes idle. The process without agents is measured without any. Agents come back as ours do: each after a random share of the span. “Within 1 s” is what a fleet without that would do.',
    '',
  ];
  if (flags['no-file']) return;
  const file = path.join(checkout, 'docs', 'measurements', 'fleet.md');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, lines.join('\n'));
  say(`written: ${path.relative(checkout, file)}`);
}

await bench();
