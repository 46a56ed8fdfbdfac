/**
 * Measures what a machine, its samples, an image, a log line and a job cost on a real server with a real database: disk,
 * memory of the server, traffic. Writes docs/measurements/sizes.md.
 * node e2e/bench/sizes.ts [--machines=300] [--images=1000] [--lines=20000] [--jobs=1000] [--no-file]
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { DataSyncService, DataType } from '@platform/contract/gen/platform/app/datasync/v1/data_sync_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { FleetService } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { longestHoldMs } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { JobLab } from '../src/job-lab.ts';
import { meter } from '../src/meter.ts';
import { checkout } from '../src/up-process.ts';

const { values: flags } = parseArgs({
  options: {
    machines: { type: 'string', default: '300' },
    images: { type: 'string', default: '1000' },
    lines: { type: 'string', default: '20000' },
    jobs: { type: 'string', default: '1000' },
    'no-file': { type: 'boolean', default: false },
  },
});
const counts = {
  machines: Number(flags.machines),
  images: Number(flags.images),
  lines: Number(flags.lines),
  jobs: Number(flags.jobs),
};
const imageBytes = 40_000;
const linesPerCall = 100;
const atOnce = 16;

interface Row {
  readonly what: string;
  readonly database: number;
  readonly note: string;
}

/** Runs `work` for 0 … count-1, a few at once. */
async function each(count: number, work: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const one = async (): Promise<void> => {
    for (let n = next++; n < count; n = next++) await work(n);
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** Bytes of all tables with their indexes, after the database has cleaned up. */
async function databaseBytes(lab: JobLab): Promise<number> {
  await lab.sql('vacuum');
  const [row] = await lab.sql<{ bytes: string }>('select pg_database_size(current_database()) as bytes');
  return Number(row?.bytes ?? 0);
}

/** @returns the bytes that each of `count` pieces of work left in the database. */
async function cost(lab: JobLab, count: number, work: () => Promise<void>): Promise<number> {
  const before = await databaseBytes(lab);
  await work();
  return Math.max(0, (await databaseBytes(lab)) - before) / count;
}

const serverMib = (lab: JobLab): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${lab.pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

interface Member {
  readonly partId: string;
  readonly secret: string;
}

const configJson = JSON.stringify({
  agent: { version_control: { 'platform-agent': 'stable', 'platform-server': 'stable' } },
  components: Array.from({ length: 5 }, (_, n) => ({
    name: `camera-${n}`,
    type: 'camera',
    model: 'fake',
    attributes: {},
  })),
});

async function machines(lab: JobLab): Promise<{ rows: Row[]; members: Member[] }> {
  const fleet = await lab.client(FleetService);
  const members: Member[] = [];
  const bytes = await cost(lab, counts.machines, () =>
    each(counts.machines, async (n) => {
      const made = await fleet.createMachine({ organizationId: lab.ready.org_id, name: `machine ${n}` });
      const partId = made.machine?.partId ?? '';
      const { cloud } = JSON.parse(made.credentialsJson) as { cloud: { secret: string } };
      members.push({ partId, secret: cloud.secret });
      await fleet.saveConfig({ partId, configJson });
    }),
  );
  const revision = await cost(lab, counts.machines, () =>
    each(counts.machines, async (n) => {
      const changed = configJson.replace('camera-0', `changed-${n}`);
      await fleet.saveConfig({ partId: members[n]?.partId ?? '', configJson: changed });
    }),
  );
  return {
    members,
    rows: [
      { what: 'a machine', database: bytes, note: `with its first configuration of ${configJson.length} bytes` },
      { what: 'a saved revision of a configuration', database: revision, note: 'of the same size' },
    ],
  };
}

/** Signs a machine in. */
async function signedIn(url: string, { partId, secret }: Member) {
  const transport = createConnectTransport({ baseUrl: url, useBinaryFormat: true });
  const credentials = { type: 'robot-secret', payload: secret };
  const { accessToken } = await createClient(AuthService, transport).authenticate({ entity: partId, credentials });
  return { transport, headers: { authorization: `Bearer ${accessToken}` } };
}

/** Memory of a machine that waits for changes, and the traffic of one such wait. */
async function waitingMachines(lab: JobLab, members: readonly Member[]) {
  const before = serverMib(lab);
  await using counter = await meter(lab.ready.url);
  const stop = new AbortController();
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const held: Promise<number>[] = [];
  // One address may have some connections only whose callers have not signed in.
  await each(members.length, async (n) => {
    const member = members[n]!;
    const { transport, headers } = await signedIn(n === 0 ? counter.url : lab.ready.url, member);
    const agent = createClient(AgentDeviceService, transport);
    const { fingerprint } = await agent.deviceAgentConfig({ id: member.partId, hostInfo }, { headers });
    const from = counter.tally([]).bytes;
    const ask = { id: member.partId, hostInfo, knownFingerprint: fingerprint, wait: durationFromMs(longestHoldMs) };
    const wait = agent.deviceAgentConfig(ask, { headers, signal: stop.signal });
    held.push(wait.then(() => (n === 0 ? counter.tally([]).bytes - from : 0)));
  });
  const memory = serverMib(lab);
  const traffic = (await Promise.all(held)).find((bytes) => bytes > 0) ?? 0;
  stop.abort();
  const perDay = (86_400_000 / longestHoldMs) * traffic;
  return { perMachineKib: ((memory - before) * 1024) / members.length, traffic, perDay };
}

async function images(lab: JobLab, partId: string): Promise<Row> {
  const sync = await lab.client(DataSyncService);
  const bytes = await cost(lab, counts.images, () =>
    each(counts.images, () =>
      sync.dataCaptureUpload({
        metadata: { partId, componentName: 'camera', type: DataType.BINARY_SENSOR, fileExtension: '.jpg', tags: ['a'] },
        sensorContents: [{ data: { case: 'binary', value: randomBytes(imageBytes) } }],
      }),
    ),
  );
  return { what: 'an image', database: bytes, note: 'and the file itself, once, however often it is sent' };
}

async function logLines(lab: JobLab, member: Member): Promise<Row> {
  const { transport, headers } = await signedIn(lab.ready.url, member);
  const robot = createClient(RobotService, transport);
  const bootId = randomUUID();
  const started = systemClock.wall() - 3_600_000;
  const message = 'camera-0: the image was taken after 12.345 ms and has 640x480 pixels';
  const bytes = await cost(lab, counts.lines, () =>
    each(counts.lines / linesPerCall, async (call) => {
      const logs = Array.from({ length: linesPerCall }, (_, n) => ({
        message: `${message} ${call * linesPerCall + n}`,
        level: 'info',
        loggerName: 'camera',
        bootId,
        seq: BigInt(call * linesPerCall + n + 1),
        time: timestampFromMs(started + call),
      }));
      // A machine may send a thousand lines a second, as many as the server stores of one.
      for (;;) {
        const taken = await robot.log({ id: member.partId, logs }, { headers }).then(() => true, isRateLimited);
        if (taken) break;
        await systemClock.sleep(1_000);
      }
    }),
  );
  return { what: 'a log line of a machine', database: bytes, note: `of ${message.length} characters` };
}

/** @returns false, to try again. @throws every other error */
function isRateLimited(error: unknown): false {
  if (error instanceof ConnectError && error.code === Code.ResourceExhausted) return false;
  throw error;
}

/** A day of samples of a machine, each five minutes a batch of five, as agents send them. */
async function samples(lab: JobLab, members: readonly Member[]): Promise<{ row: Row; traffic: number }> {
  const [batches, perBatch] = [288, 5];
  const start = Math.floor(systemClock.wall() / 1000) - 86_400;
  const spoolId = randomUUID();
  const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };
  const some = members.slice(0, Math.min(members.length, 20));
  await using counter = await meter(lab.ready.url);
  let traffic = 0;
  const bytes = await cost(lab, some.length, () =>
    each(some.length, async (n) => {
      const member = some[n]!;
      const { transport, headers } = await signedIn(n === 0 ? counter.url : lab.ready.url, member);
      const agent = createClient(AgentDeviceService, transport);
      const before = counter.tally([]).bytes;
      let knownFingerprint = '';
      for (let batch = 0; batch < batches; batch++) {
        const answer = await agent.deviceAgentConfig(
          {
            id: member.partId,
            hostInfo,
            knownFingerprint,
            samples: {
              spoolId,
              firstSequence: BigInt(batch * perBatch + 1),
              start: BigInt(start + batch * 300),
              samples: Array.from({ length: perBatch }, (_, i) => ({
                seconds: i * 60,
                processorPermille: (batch * 7 + i * 31) % 1000,
                memoryPermille: 400 + i,
                diskPermille: 250,
                temperatureTenths: 450 + i,
                receivedBytesPerSecond: BigInt(100 + batch * i),
                sentBytesPerSecond: BigInt(200 + batch * i),
              })),
            },
          },
          { headers },
        );
        knownFingerprint = answer.fingerprint || knownFingerprint;
      }
      if (n === 0) traffic = counter.tally([]).bytes - before;
    }),
  );
  const row = { what: 'samples of a machine in a day', database: bytes, note: 'one a minute; kept 7 days' };
  return { row, traffic };
}

async function jobs(lab: JobLab): Promise<Row> {
  const dataset = await lab.dataset();
  await lab.submit(dataset, '0');
  const bytes = await cost(lab, counts.jobs, () => each(counts.jobs, (n) => lab.submit(dataset, String(n + 1))));
  return { what: 'a training job', database: bytes, note: 'that waits; its log lines, metrics and model come on top' };
}

const size = (bytes: number): string =>
  bytes < 1_000 ? `${Math.round(bytes)} bytes` : `${(bytes / 1024).toFixed(1)} KiB`;

async function main(): Promise<void> {
  await using lab = await JobLab.open();
  const empty = await databaseBytes(lab);
  const idleMib = serverMib(lab);
  const made = await machines(lab);
  const member = made.members[0];
  if (!member) throw new Error('no machine was made');
  const waiting = await waitingMachines(lab, made.members);
  const sampled = await samples(lab, made.members);
  const rows = [
    ...made.rows,
    sampled.row,
    await images(lab, member.partId),
    await logLines(lab, member),
    await jobs(lab),
  ];
  const table = [
    '| what | in the database | besides |',
    '|---|---|---|',
    ...rows.map(({ what, database, note }) => `| ${what} | ${size(database)} | ${note} |`),
    '',
    '| of the server | |',
    '|---|---|',
    `| empty database | ${(empty / 2 ** 20).toFixed(0)} MiB |`,
    `| memory of the server without machines | ${idleMib.toFixed(0)} MiB |`,
    `| memory for each machine that waits for changes | ${waiting.perMachineKib.toFixed(1)} KiB |`,
    `| traffic of one wait of ${longestHoldMs / 1000} s without a change | ${size(waiting.traffic)} |`,
    `| … of its samples in a day, with the checks that carry them | ${size(sampled.traffic)} |`,
    `| … of a machine without changes in a day | ${(waiting.perDay / 2 ** 20).toFixed(1)} MiB |`,
  ];
  const machine = `${os.cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${os.cpus().length} cores, ${Math.round(os.totalmem() / 2 ** 30)} GiB, ${os.type()} ${os.release()}, Node ${process.version}`;
  const day = new Date(systemClock.wall()).toISOString().slice(0, 10);
  const text = `# What things cost on a management server, measured

Written by \`npm run bench:sizes\` on ${day}. ${machine}. ${counts.machines} machines, ${counts.images} images of ${imageBytes} bytes, ${counts.lines} log lines and ${counts.jobs} jobs on an empty server with its own database. A size is the growth of the database with its indexes after a vacuum, divided by the count.

${table.join('\n')}
`;
  process.stdout.write(`${table.join('\n')}\n`);
  if (!flags['no-file']) writeFileSync(path.join(checkout, 'docs', 'measurements', 'sizes.md'), text);
}

await main();
