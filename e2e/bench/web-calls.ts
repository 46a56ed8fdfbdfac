// What the calls of the web app cost the server and its database.
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { LogDirection, LogService } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { createClient } from '@connectrpc/connect';
import { systemClock } from '@platform/kit/node';
import { clientOf } from '../src/cloud-process.ts';
import { cpuMs, type FleetLab } from '../src/fleet-lab.ts';
import { signIn } from '../src/wire-callers.ts';
import { machineQueries } from './filled-fleet.ts';

export interface CallFigures {
  what: string;
  /** Median processor of server and database together, ms. */
  cpu: number;
  p99: number;
  /** Median. */
  wall: number;
  bytes: number;
  lines: number;
}

const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;

const sizeOf = (answer: object): number =>
  JSON.stringify(answer, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)).length;

interface Answer {
  bytes: number;
  lines: number;
}

/** Some rounds after one that fills the caches. */
async function measure(
  lab: FleetLab,
  { what, rounds }: { what: string; rounds: number },
  call: () => Promise<Answer>,
): Promise<CallFigures> {
  let answer = await call();
  const cpu: number[] = [];
  const walls: number[] = [];
  const used = (): number => cpuMs([lab.pid]) + lab.databaseCpuMs;
  for (let round = 0; round < rounds; round += 1) {
    const [before, started] = [used(), systemClock.now()];
    answer = await call();
    walls.push(systemClock.now() - started);
    cpu.push(used() - before);
  }
  return { what, cpu: at(cpu, 0.5), p99: at(cpu, 0.99), wall: at(walls, 0.5), ...answer };
}

/** Queries of the list, facets included. */
export async function measureList(lab: FleetLab, rounds: number): Promise<CallFigures[]> {
  const { fleetClient } = clientOf(lab.ready);
  const organizationId = lab.ready.org_id;
  const page = { organizationId, pageSize: 50 };
  const sized = (answer: object): Answer => ({ bytes: sizeOf(answer), lines: 0 });
  const found: CallFigures[] = [];
  const add = async (what: string, call: () => Promise<object>): Promise<void> =>
    void found.push(await measure(lab, { what, rounds }, async () => sized(await call())));
  for (const { what, query, sort } of machineQueries)
    await add(what, () => fleetClient.listMachines({ ...page, query, sort }));
  const { fingerprint: knownFingerprint } = await fleetClient.listMachines({ ...page, query: 'tag:field' });
  await add('a tag, nothing has changed', () =>
    fleetClient.listMachines({ ...page, query: 'tag:field', knownFingerprint }),
  );
  await add('facets of all machines', () => fleetClient.listMachineFacets({ organizationId }));
  await add('facets of a query', () =>
    fleetClient.listMachineFacets({ organizationId, query: 'tag:barn state:offline' }),
  );
  return found;
}

/** A search of each kind; those that find little read all lines. */
const searches: readonly (readonly [what: string, query: string])[] = [
  ['the newest lines', ''],
  ['a text in one of 100,000', '"no such device"'],
  ['a text that no line has', 'nowhere'],
  ['an expression that no line matches', '/camera \\d+ broke/'],
  ['a level', 'level:error'],
  ['a logger', 'logger=platform-server.camera-3'],
  ['a logger that no line has', 'logger:other'],
  ['a start of the agent', 'boot:b0'],
  ['a start that no line has', 'boot:c'],
  ['a field', 'camera=gate-7'],
  ['a field that no line has', 'camera=gate-70'],
  ['a level and a text that no line has', 'level>=warn nowhere'],
];

const dayMs = 24 * 3_600_000;

export async function measureSearches(lab: FleetLab, partId: string, rounds: number): Promise<CallFigures[]> {
  const { url, api_key_id: entity, api_key: payload } = lab.ready;
  const { transport } = await signIn({ url, type: 'api-key', entity, payload });
  const logs = createClient(LogService, transport);
  const few = Math.max(3, Math.round(rounds / 7));
  const found: CallFigures[] = [];
  const partIds = [partId];
  const search = async (request: object): Promise<Answer> => {
    const answer = await logs.searchLogs({ partIds, limit: 200, ...request });
    return { bytes: sizeOf(answer), lines: answer.lines.length };
  };
  for (const [what, query] of searches)
    found.push(
      await measure(lab, { what, rounds: few }, () => search({ query, direction: LogDirection.NEWEST_FIRST })),
    );
  const middle = timestampFromMs(systemClock.wall() - 1.5 * dayMs);
  found.push(await measure(lab, { what: 'lines around a moment', rounds: few }, () => search({ until: middle })));
  const count = (what: string, days: number, query: string) =>
    measure(lab, { what, rounds: few }, async () => {
      const until = systemClock.wall();
      const from = timestampFromMs(until - days * dayMs);
      const answer = await logs.countLogs({ partIds, query, from, until: timestampFromMs(until), most: 120 });
      const { error = 0n, warn = 0n, info = 0n, debug = 0n } = answer.total ?? {};
      return { bytes: sizeOf(answer), lines: Number(error + warn + info + debug) };
    });
  found.push(await count('histogram of the last day', 1, ''));
  found.push(await count('histogram of all lines', 4, ''));
  found.push(await count('histogram of a text', 4, '"no such device"'));
  return found;
}
