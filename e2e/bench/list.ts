/**
 * Measures the processor time that the management server and its database need for queries of a large list of machines,
 * some of which talk to it. Writes docs/measurements/machine-list.md.
 * node e2e/bench/list.ts [--machines=10000] [--agents=1000] [--rounds=10] [--no-file]
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '@platform/kit/node';
import { clientOf } from '../src/cloud-process.ts';
import { cpuMs, FleetLab } from '../src/fleet-lab.ts';
import { thisHost, today } from '../src/this-host.ts';
import { checkout } from '../src/up-process.ts';
import { fillReports, machineQueries } from './filled-fleet.ts';
import { Fleet } from './fleet-agents.ts';

const { values: flags } = parseArgs({
  options: {
    machines: { type: 'string', default: '10000' },
    agents: { type: 'string', default: '1000' },
    rounds: { type: 'string', default: '10' },
    'no-file': { type: 'boolean', default: false },
  },
});
const machines = Number(flags.machines);
const rounds = Number(flags.rounds);
const say = (text: string): boolean => process.stdout.write(`${text}\n`);
const load = (): string => readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
const loadBefore = load();

interface Row {
  what: string;
  server: number;
  database: number;
  bytes: number;
}
const table: Row[] = [];

/** The mean of some rounds, after one that fills the caches. */
async function measure(lab: FleetLab, what: string, call: () => Promise<number>): Promise<void> {
  let bytes = await call();
  const before = { server: cpuMs([lab.pid]), database: lab.databaseCpuMs };
  for (let round = 0; round < rounds; round += 1) bytes = await call();
  const row = {
    what,
    server: (cpuMs([lab.pid]) - before.server) / rounds,
    database: (lab.databaseCpuMs - before.database) / rounds,
    bytes,
  };
  table.push(row);
  say(`${what.padEnd(60)} server ${ms(row.server)}, database ${ms(row.database)}, answer ${kib(bytes)}`);
}
const ms = (value: number): string => `${value.toFixed(0)} ms`;
const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
const sizeOf = (answer: object): number =>
  JSON.stringify(answer, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)).length;

async function bench(): Promise<void> {
  await using lab = await FleetLab.open();
  const members = await lab.machines(machines);
  await fillReports(lab);
  const fleet = new Fleet(lab.ready.url, members.slice(0, Number(flags.agents)));
  await fleet.start();
  while (fleet.served < Number(flags.agents)) await systemClock.sleep(50);
  const { fleetClient, bulkClient } = clientOf(lab.ready);
  const organizationId = lab.ready.org_id;
  const page = { organizationId, pageSize: 50 };
  for (const { what, query, sort } of machineQueries)
    await measure(lab, `list: ${what}`, async () => sizeOf(await fleetClient.listMachines({ ...page, query, sort })));
  await measure(lab, 'list: the last rows by name', async () =>
    sizeOf(await fleetClient.listMachines({ ...page, skip: machines - 50 })),
  );
  const { fingerprint: knownFingerprint } = await fleetClient.listMachines({ ...page, query: 'tag:field' });
  await measure(lab, 'list: a tag, nothing has changed', async () =>
    sizeOf(await fleetClient.listMachines({ ...page, query: 'tag:field', knownFingerprint })),
  );
  await measure(lab, 'facets: all machines', async () =>
    sizeOf(await fleetClient.listMachineFacets({ organizationId })),
  );
  await measure(lab, 'facets: a query', async () =>
    sizeOf(await fleetClient.listMachineFacets({ organizationId, query: 'tag:barn state:offline' })),
  );
  const change = { change: { case: 'pin' as const, value: { program: 'server', version: '1.5.0' } } };
  await measure(lab, 'preview: pin a version on all machines', async () =>
    sizeOf(await bulkClient.previewBulkOperation({ target: { organizationId }, change })),
  );
  await fleet.stop();
  write();
}

function write(): void {
  if (flags['no-file']) return;
  const lines = [
    '# Queries of a large list of machines, measured',
    '',
    `Written by \`npm run bench:list\` on ${today()}. ${thisHost()}; load ${loadBefore} before, ${load()} at the end. ${machines.toLocaleString('en')} machines, of which ${Number(flags.agents).toLocaleString('en')} simulated agents hold a check; server, database and agents share the machine. Each figure is processor time, the mean of ${rounds} calls after a first one; the aim is at most 100 ms for both together.`,
    '',
    '| call | server | database | answer as JSON |',
    '|---|---|---|---|',
    ...table.map(
      ({ what, server, database, bytes }) => `| ${what} | ${ms(server)} | ${ms(database)} | ${kib(bytes)} |`,
    ),
    '',
  ];
  const file = path.join(checkout, 'docs', 'measurements', 'machine-list.md');
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, lines.join('\n'));
  say(`written: ${path.relative(checkout, file)}`);
}

await bench();
