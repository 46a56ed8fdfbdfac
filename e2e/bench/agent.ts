/**
 * Measures the compiled agent against a real management server: file, start, idle, updates. The same agent on Node runs
 * alongside as the reference. Writes docs/measurements/agent.md.
 * node e2e/bench/agent.ts [--idle-minutes=10] [--starts=10] [--no-file] [--quick: not packed]
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { constants, zstdCompressSync } from 'node:zlib';
import { plainEnvironment, spawnGroup, systemClock } from '@platform/kit/node';
import { tempFolder } from '@platform/kit/testing';
import { build, type Build } from '../lab/builds.ts';
import { type Site, startSite } from '../lab/site.ts';
import {
  type AgentProcess,
  startAgentProcess,
  unitEnvironment,
  type Use,
  useOf,
  writeCredentials,
} from '../src/agent-process.ts';
import { type Meter, meter } from '../src/meter.ts';
import { checkout } from '../src/up-process.ts';
import { thisHost, today } from '../src/this-host.ts';

const { values: flags } = parseArgs({
  options: {
    'idle-minutes': { type: 'string', default: '10' },
    starts: { type: 'string', default: '10' },
    'no-file': { type: 'boolean', default: false },
    quick: { type: 'boolean', default: false },
  },
});
const idleMinutes = Number(flags['idle-minutes']);
const starts = Number(flags.starts);
const warmMinutes = Math.min(2, idleMinutes / 2);

const table: { what: string; agent: string; node?: string; aim: string }[] = [];
const say = (text: string): boolean => process.stderr.write(`${text}\n`);
const row = (what: string, agent: string, aim: string, node?: string): void => {
  table.push({ what, agent, aim, ...(node !== undefined && { node }) });
  say(`${what}: ${agent}${node === undefined ? '' : ` (on Node: ${node})`}`);
};
const mb = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 2 : 1)} MB`;
const ms = (value: number): string => `${Math.round(value)} ms`;
const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;

/** An agent installed in its own folder, with metered network traffic. */
interface Stand extends AsyncDisposable {
  readonly command: readonly string[];
  readonly root: string;
  readonly credentialsFile: string;
  /** The environment of its unit. */
  readonly env: Record<string, string>;
  readonly partId: string;
  readonly wire: Meter;
  start(): Promise<AgentProcess>;
}

async function stand(site: Site, name: string, command?: readonly string[]): Promise<Stand> {
  const folder = await tempFolder();
  const wire = await meter(site.localUrl);
  const { partId, credentialsJson } = await site.createMachine(name);
  const [root, credentialsFile] = [folder.file('platform'), folder.file('platform.json')];
  await writeCredentials(credentialsFile, credentialsJson, wire.url);
  mkdirSync(root);
  const env: Record<string, string> = {};
  const place = { command: command ?? [path.join(root, 'bin', 'platform-agent')], root, credentialsFile, env };
  return {
    ...place,
    partId,
    wire,
    start: () => startAgentProcess(place),
    async [Symbol.asyncDispose]() {
      await wire[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Installs the compiled agent as its installer does, without systemd. */
async function install({ file }: Build, { root, credentialsFile, wire, env }: Stand): Promise<void> {
  const folder = path.join(root, '..');
  const units = path.join(folder, 'units');
  mkdirSync(units);
  const where = [
    '--root',
    root,
    '--config',
    credentialsFile,
    '--url',
    wire.url,
    '--unit-folder',
    units,
    '--link-folder',
    units,
  ];
  const group = await spawnGroup({
    command: file,
    args: ['install', ...where],
    logFile: path.join(folder, 'install.log'),
  });
  const { code } = await group.exited;
  if (code !== 0)
    throw new Error(`install ended with ${code}:\n${readFileSync(path.join(folder, 'install.log'), 'utf8')}`);
  Object.assign(env, unitEnvironment(readFileSync(path.join(units, 'platform-agent.service'), 'utf8')));
}

const serverRuns = (site: Site, { partId }: Stand, version: string) =>
  site.until(partId, `server ${version} runs`, 120, (m) => m.report?.server?.runningVersion === version);

async function measureStarts(subject: Stand): Promise<{ ready: number; check: number; cpu: number }> {
  const ready: number[] = [];
  const check: number[] = [];
  const cpu: number[] = [];
  for (let n = 0; n < starts; n++) {
    const first = subject.wire.heard('DeviceAgentConfig');
    await using agent = await subject.start();
    ready.push((await agent.ready) - agent.startedAt);
    cpu.push(useOf(agent.pid).cpuSeconds * 1000);
    check.push((await first) - agent.startedAt);
  }
  return { ready: middle(ready), check: middle(check), cpu: middle(cpu) };
}

/** Calls that only a machine server makes: it uses the same URL from the same file. */
const ofTheServer = ['/platform.app.v1.RobotService/Config'];

interface Idle extends Use {
  calls: number;
  wireBytes: number;
  /** Includes those of the machine server. */
  machineBytes: number;
  connections: number;
  /** The relay process; undefined: there is none. */
  relay: Use | undefined;
}
/** Finds the process that reads the output of this agent's machine server; undefined: there is none. */
function relayOf(root: string): number | undefined {
  const found = readdirSync('/proc').find((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`\0relay\0--root\0${root}\0`);
    } catch {
      return false; // no process, or it has ended
    }
  });
  return found === undefined ? undefined : Number(found);
}

function lookAt(agent: AgentProcess, { wire, root }: Stand): Idle {
  const relay = relayOf(root);
  return {
    ...useOf(agent.pid),
    relay: relay === undefined ? undefined : useOf(relay),
    wireBytes: wire.tally(ofTheServer).bytes,
    machineBytes: wire.tally([]).bytes,
    connections: wire.tally(ofTheServer).connections,
    calls: [...wire.tally(ofTheServer).calls.values()].reduce((sum, count) => sum + count, 0),
  };
}

const none = 'none';
const mib = (value: number): string => `${value.toFixed(1)} MiB`;
const together = ({ cpuSeconds, relay }: Idle): number => cpuSeconds + (relay?.cpuSeconds ?? 0);

type IdleRow = [what: string, aim: string, figure: (before: Idle, after: Idle) => string];

function processorRows(seconds: number): IdleRow[] {
  return [
    ['anonymous memory, idle', '14 MB, at most 20', (_, b) => `${b.anonymous.toFixed(1)} MiB`],
    ['resident memory, idle', '56 MB, at most 64', (_, b) => `${b.resident.toFixed(1)} MiB`],
    [
      'processor, idle',
      'at most 0.10 % of a core',
      (a, b) => `${(((b.cpuSeconds - a.cpuSeconds) / seconds) * 100).toFixed(2)} % of a core`,
    ],
    [
      'wake-ups of its threads, idle',
      'at most 4 a second',
      (a, b) => `${((b.sleeps - a.sleeps) / seconds).toFixed(1)} a second`,
    ],
    ['relay of the output: anonymous memory, idle', '–', (_, { relay }) => (relay ? mib(relay.anonymous) : none)],
    [
      'agent and relay together: anonymous memory, idle',
      'at most 30 MB',
      (_, b) => (b.relay ? mib(b.anonymous + b.relay.anonymous) : none),
    ],
    [
      '… processor, idle',
      'at most 0.10 % of a core',
      (a, b) =>
        a.relay && b.relay ? `${(((together(b) - together(a)) / seconds) * 100).toFixed(2)} % of a core` : none,
    ],
    [
      '… wake-ups of their threads, idle',
      'at most 4 a second',
      (a, b) =>
        a.relay && b.relay
          ? `${((b.sleeps + b.relay.sleeps - a.sleeps - a.relay.sleeps) / seconds).toFixed(1)} a second`
          : none,
    ],
  ];
}

function wireRows(seconds: number): IdleRow[] {
  return [
    [
      'bytes on the wire, idle',
      '1.5 MB a day, at most 3',
      (a, b) => `${mb(((b.wireBytes - a.wireBytes) / seconds) * 86_400)} a day`,
    ],
    [
      '… of one call and its answer',
      '–',
      (a, b) => `${((b.wireBytes - a.wireBytes) / Math.max(1, b.calls - a.calls)).toFixed(0)} bytes`,
    ],
    [
      '… with those of the machine server',
      '5 MB a day at most',
      (a, b) => `${mb(((b.machineBytes - a.machineBytes) / seconds) * 86_400)} a day`,
    ],
    ['connections, idle', '–', (a, b) => `${(((b.connections - a.connections) / seconds) * 3600).toFixed(0)} an hour`],
    [
      'calls to the management server, idle',
      '–',
      (a, b) => `${(((b.calls - a.calls) / seconds) * 3600).toFixed(0)} an hour`,
    ],
    [
      'bytes to the disk, idle',
      '2 MB a day, at most 5',
      (a, b) => `${mb(((b.written - a.written) / seconds) * 86_400)} a day`,
    ],
  ];
}

function idleRows(agent: readonly [Idle, Idle], node: readonly [Idle, Idle], seconds: number): void {
  const rows = [...processorRows(seconds), ...wireRows(seconds)];
  for (const [what, aim, figure] of rows) row(what, figure(...agent), aim, figure(...node));
}

async function measureUpdate(
  site: Site,
  { partId, wire }: Stand,
  program: 'agent' | 'server',
  { version }: Build,
  publish: () => Promise<void>,
): Promise<{ seconds: number; bytes: number }> {
  const before = wire.tally([]).bytes;
  const asked = wire.heard('/releases/');
  await publish();
  await site.until(
    partId,
    `${program} ${version} is there`,
    300,
    ({ report }) => report?.[program]?.installedVersion === version,
  );
  const [seconds, bytes] = [(systemClock.now() - (await asked)) / 1000, wire.tally([]).bytes - before];
  return { seconds, bytes };
}

interface Programs {
  agent: Build;
  agentNext: Build;
  server: Build;
  serverNext: Build;
  /** The agent's sources on Node, in one file. */
  onNode: string;
}

async function buildPrograms(): Promise<Programs> {
  const { stdout } = spawnSync(process.execPath, [path.join(checkout, 'tools/release.ts'), 'agent-on-node'], {
    env: plainEnvironment(),
    encoding: 'utf8',
  });
  return {
    agent: await build('platform-agent', '0.9.0'),
    agentNext: await build('platform-agent', '0.9.1'),
    server: await build('platform-server', '0.9.0'),
    serverNext: await build('platform-server', '0.9.1'),
    onNode: (JSON.parse(stdout) as { file: string }).file,
  };
}

function measureFiles({ agent, onNode }: Programs): void {
  const bytes = readFileSync(agent.file);
  row('program file, linux amd64', mb(bytes.length), '114 MB, at most 120', mb(statSync(onNode).size));
  if (!flags.quick) {
    const packed = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 19 } }).length;
    row('… packed with zstd -19', mb(packed), '41 MB, at most 44');
  }
  const version = (file: string): number => {
    const from = systemClock.now();
    spawnSync(file, ['--version'], { env: {} });
    return systemClock.now() - from;
  };
  const versions = (file: string): string => ms(middle(Array.from({ length: starts }, () => version(file))));
  row('--version', versions(agent.file), '–', versions(onNode));
}

/** Both agents fetch the whole machine server, one after the other. */
async function measureWholeServer(site: Site, ours: Stand, other: Stand, server: Build): Promise<void> {
  await using first = await ours.start();
  await first.ready;
  const full = await measureUpdate(site, ours, 'server', server, async () => {});
  row('machine server, whole: bytes, seconds', `${mb(full.bytes)}, ${full.seconds.toFixed(1)} s`, '–');
  await serverRuns(site, ours, server.version);
  await using second = await other.start();
  await second.ready;
  await serverRuns(site, other, server.version);
}

async function measureBothStarts(ours: Stand, other: Stand): Promise<void> {
  const [compiled, onNode] = [await measureStarts(ours), await measureStarts(other)];
  row('start → ready', ms(compiled.ready), '90 ms, at most 200', ms(onNode.ready));
  row('start → ready, processor time', ms(compiled.cpu), '–', ms(onNode.cpu));
  row('start → first configuration check', ms(compiled.check), '+150 ms, at most +2 s', ms(onNode.check));
}

/** @param running - the agent of each stand. */
async function measureIdle(
  [ours, other]: readonly [Stand, Stand],
  running: readonly [AgentProcess, AgentProcess],
): Promise<void> {
  say(`idle: ${warmMinutes} minutes to come to rest, ${idleMinutes} minutes measured …`);
  await systemClock.sleep(warmMinutes * 60_000);
  const from = systemClock.now();
  const before = [lookAt(running[0], ours), lookAt(running[1], other)] as const;
  await systemClock.sleep(idleMinutes * 60_000);
  const after = [lookAt(running[0], ours), lookAt(running[1], other)] as const;
  for (const [call, count] of ours.wire.tally([]).calls) say(`  ${count} × ${call}`);
  idleRows([before[0], after[0]], [before[1], after[1]], (systemClock.now() - from) / 1000);
}

async function measurePatches(site: Site, ours: Stand, { serverNext, agentNext }: Programs): Promise<void> {
  const server = await measureUpdate(site, ours, 'server', serverNext, () => site.publish(serverNext, 'stable'));
  row(
    'machine server, a new version by patch: bytes, seconds',
    `${mb(server.bytes)}, ${server.seconds.toFixed(1)} s`,
    '–',
  );
  const agent = await measureUpdate(site, ours, 'agent', agentNext, () => site.publish(agentNext, 'stable'));
  row('agent, a new version by patch: bytes', mb(agent.bytes), '0.3 MB, at most 1');
  row(
    'agent, a new version by patch: first byte asked for → staged',
    `${agent.seconds.toFixed(1)} s`,
    '4 s, at most 60',
  );
}

async function main(): Promise<void> {
  say('building …');
  const programs = await buildPrograms();
  const { agent, server, onNode } = programs;
  measureFiles(programs);
  await using site = await startSite({ isPlain: true });
  await site.publish(server, 'stable');
  await site.publish(agent, 'stable');
  await using ours = await stand(site, 'compiled');
  await using other = await stand(site, 'on Node', [onNode]);
  await install(agent, ours);
  for (const { partId } of [ours, other])
    await site.configure(partId, { version_control: { 'platform-agent': 'stable', 'platform-server': 'stable' } });
  await measureWholeServer(site, ours, other, server);
  await measureBothStarts(ours, other);
  await using a = await ours.start();
  await using b = await other.start();
  await Promise.all([serverRuns(site, ours, server.version), serverRuns(site, other, server.version)]);
  await measureIdle([ours, other], [a, b]);
  await b.stop();
  await measurePatches(site, ours, programs);
  writeTable();
}

function writeTable(): void {
  const load = readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
  const lines = [
    '# The agent, measured',
    '',
    `Written by \`npm run bench:agent\` on ${today()}. ${thisHost()}; load ${load} at the end, the management server and everything else on the same machine.`,
    '',
    `The compiled agent (Bun 1.4.5) and, as the measure of it, the same sources on the pinned Node ${process.version} in one file (the way out, never shipped) run side by side against one management server, each with a real machine server. Starts: the middle of ${starts}, from the start of the process until systemd would hear READY, and until the first bytes of a configuration check leave. Idle: ${idleMinutes} minutes after ${warmMinutes} of rest; bytes of the wire are those of HTTP (no TLS here, no TCP headers), nearly all of them held checks of 55 seconds. Resident memory is what the kernel has not reclaimed: on a machine that needs its memory it is less, because most of it are pages of the program file that were read once. Updates: bytes of all calls until it was reported as installed, seconds from the first request for a file or patch until then (the report comes up to a second later). The two versions differ in their number alone, so a patch is as small as it gets. Times on a busy machine are upper bounds.`,
    '',
    '| | compiled | on Node | aim |',
    '|---|---|---|---|',
    ...table.map(({ what, agent: value, node, aim }) => `| ${what} | ${value} | ${node ?? ''} | ${aim} |`),
    '',
  ];
  if (flags['no-file']) return void process.stdout.write(lines.join('\n'));
  const file = path.join(checkout, 'docs', 'measurements', 'agent.md');
  writeFileSync(file, lines.join('\n'));
  say(`written: ${path.relative(checkout, file)}`);
}

await main();
