/**
 * Measures the job queue at scale, on a real server with a real database: submits per second; leases, lists and single
 * jobs with an empty and a full queue; submit to first log line and cancel to stopped with a real runner; memory.
 * Writes docs/measurements/jobs.md.
 * node e2e/bench/jobs.ts [--jobs=100000] [--submit-seconds=20] [--clients=16] [--rounds=40] [--no-file]
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { createClient, type Client } from '@connectrpc/connect';
import { createGrpcWebTransport } from '@connectrpc/connect-web';
import { MLTrainingService, TrainingStatus } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { plainEnvironment, systemClock } from '@platform/kit/node';
import { startRunnerProcess } from '../src/acting-runner.ts';
import { postmasterOf } from '../src/end-state.ts';
import { JobLab } from '../src/job-lab.ts';
import { checkout } from '../src/up-process.ts';
import { thisHost, today } from '../src/this-host.ts';

const { values: flags } = parseArgs({
  options: {
    jobs: { type: 'string', default: '100000' },
    'submit-seconds': { type: 'string', default: '20' },
    clients: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '40' },
    'no-file': { type: 'boolean', default: false },
  },
});
const total = Number(flags.jobs);
const clients = Number(flags.clients);
const rounds = Number(flags.rounds);
const kinds = ['single_label_classification'];
/** GPUs of the jobs that fill the queue: a runner without GPUs cannot take them, a runner with GPUs can. */
const gpus = 8;

interface Row {
  what: string;
  empty?: string;
  full: string;
  ratio?: string;
  aim: string;
}
const table: Row[] = [];
const notes: string[] = [];
const say = (text: string): boolean => process.stdout.write(`${text}\n`);

/** Nearest-rank percentile. */
const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN;
const shown = (ms: number): string => (ms < 10 ? `${ms.toFixed(1)} ms` : `${Math.round(ms)} ms`);

interface Spread {
  p50: number;
  p95: number;
}
const spread = (values: readonly number[]): Spread => {
  const sorted = values.toSorted((a, b) => a - b);
  return { p50: at(sorted, 0.5), p95: at(sorted, 0.95) };
};
const text = ({ p50, p95 }: Spread): string => `p50 ${shown(p50)}, p95 ${shown(p95)}`;

async function timed(call: () => Promise<unknown>): Promise<number> {
  const started = systemClock.now();
  await call();
  return systemClock.now() - started;
}
async function repeated(count: number, call: (n: number) => Promise<unknown>): Promise<Spread> {
  await call(-1);
  const times: number[] = [];
  for (let n = 0; n < count; n++) times.push(await timed(() => call(n)));
  return spread(times);
}

/** Proportional set size in MiB: shared memory is divided among its processes. */
function pssMib(pids: readonly number[]): number {
  const kib = pids.reduce((sum, pid) => {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return sum + Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1] ?? 0);
  }, 0);
  return kib / 1024;
}
function rssMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}
/** User and system time of a process with all its threads, ms. */
const cpuMs = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`).reduce(
    (sum, task) => sum + Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6,
    0,
  );
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);

interface Figures {
  lease: Spread;
  get: Spread;
  page: Spread;
  pageOfStatus: Spread;
  lastPage: Spread;
  submit: Spread;
  firstLine: Spread;
  stopped: Spread;
}

/** The server under measurement and the calls that every part of the benchmark makes. */
interface Bench {
  readonly lab: JobLab;
  readonly organizationId: string;
  readonly training: Client<typeof MLTrainingService>;
  readonly runner: Client<typeof RunnerService>;
  /** Submits a job of a new model version. @returns its ID */
  submit(modelName: string, ofGpus?: number): Promise<string>;
  /** The number of jobs submitted so far. */
  submitted(): number;
}

async function openBench(lab: JobLab): Promise<Bench> {
  const datasetId = await lab.dataset();
  let version = 0;
  return {
    lab,
    organizationId: lab.ready.org_id,
    training: await lab.client(MLTrainingService),
    // Single-message frames, as the web app and the SDKs send them.
    runner: await lab.client(RunnerService, 'runner'),
    submit: (modelName, ofGpus = 0) => lab.submit(datasetId, `v${++version}`, { modelName, gpus: ofGpus }),
    submitted: () => version,
  };
}

/** Makes the same calls for any queue length. */
async function measureQueue(bench: Bench, label: string): Promise<Figures> {
  const { lab, runner, submit } = bench;
  say(`\nwith ${label}:`);
  const reads = await measureReads(bench);
  const submitted = await repeated(50, () => submit('submitted'));
  say(`  a submit, alone                         ${text(submitted)}`);
  const lease = await repeated(50, async (n) => {
    const { job } = await runner.leaseJob({ runnerId: `bench ${label} ${n}`, kinds, gpus });
    if (!job) throw new Error('there was nothing to lease');
  });
  say(`  a lease                                 ${text(lease)}`);
  await lab.sql(
    `update training_job set state = 'canceled', lease_until = null, ended_on = now() where lease_until is not null`,
  );
  for (const name of ['looked-at', 'submitted'])
    await lab.sql(`delete from training_job where model_name = $1`, [name]);
  return { ...reads, submit: submitted, lease, ...(await measureWithRunner(bench)) };
}

async function measureReads({ training, organizationId, submit, submitted }: Bench) {
  const list = (request: { status?: TrainingStatus; pageToken?: string }): Promise<Spread> =>
    repeated(50, () => training.listTrainingJobs({ organizationId, pageSize: 100, ...request }));
  const waiting = await submit('looked-at');
  const get = await repeated(50, () => training.getTrainingJob({ id: waiting }));
  say(`  Get of the last in the queue            ${text(get)}`);
  const page = await list({});
  say(`  a page of 100 jobs                      ${text(page)}`);
  const pageOfStatus = await list({ status: TrainingStatus.COMPLETED });
  say(`  a page of 100 of one status             ${text(pageOfStatus)}`);
  const deep = Buffer.from(`jobs ${submitted() + 100}`)
    .toString('base64')
    .replaceAll('=', '');
  const lastPage = await list({ pageToken: deep });
  say(`  the last page of 100                    ${text(lastPage)}`);
  return { get, page, pageOfStatus, lastPage };
}

/** A real runner, free for each job: it has none of the GPUs that the others wait for. */
async function measureWithRunner({ lab, training, submit, submitted }: Bench) {
  await using _process = await startRunnerProcess(lab.ready, lab.folder.file(`runner-${submitted()}`));
  const until = async (id: string, isSo: (status: TrainingStatus) => boolean): Promise<void> => {
    while (!isSo((await training.getTrainingJob({ id })).metadata?.status ?? 0)) await systemClock.sleep(10);
  };
  const firstLines: number[] = [];
  for (let n = -2; n < rounds; n++) {
    let id = '';
    const ms = await timed(async () => {
      id = await submit('quick-bench');
      for (let isThere = false; !isThere;) {
        const { logs } = await training.getTrainingJobLogs({ id, wait: { seconds: 10n, nanos: 0 } });
        isThere = logs.some((line) => line.message === 'begun');
        if (!isThere) await systemClock.sleep(5);
      }
    });
    if (n >= 0) firstLines.push(ms);
    await until(id, (status) => status === TrainingStatus.COMPLETED);
  }
  const stops: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const id = await submit('obey-bench');
    for (let isRunning = false; !isRunning;) {
      const { logs } = await training.getTrainingJobLogs({ id });
      isRunning = logs.some((line) => line.message.startsWith('pid '));
    }
    stops.push(
      await timed(async () => {
        await training.cancelTrainingJob({ id });
        await until(id, (status) => status === TrainingStatus.CANCELED);
      }),
    );
  }
  const [firstLine, stopped] = [spread(firstLines), spread(stops)];
  say(`  submit → first log line, free runner    ${text(firstLine)}`);
  say(`  cancel → stopped                        ${text(stopped)}`);
  return { firstLine, stopped };
}

interface Memory {
  server: number;
  database: number;
}
function memoryOf(lab: JobLab): Memory {
  const { pid: postmaster = 0 } = postmasterOf(lab.folder.path) ?? {};
  return { server: rssMib(lab.pid), database: pssMib([postmaster, ...childrenOf(postmaster)]) };
}

/** A hundred completed jobs fill a page of the list by status. */
async function completeHundred({ lab, submit }: Bench): Promise<void> {
  for (let n = 0; n < 100; n++) await submit('done');
  await lab.sql(
    `update training_job set state = 'completed', model_id = 'm', ended_on = now(), progress = 1,
                   evaluation = $1 where model_name = 'done'`,
    [
      JSON.stringify({
        accuracy: 0.9,
        curve: Array.from({ length: 400 }, (_, epoch) => ({ epoch, loss: 1 / (epoch + 1), stage: 'fine-tune' })),
      }),
    ],
  );
  await lab.sql('vacuum analyze training_job');
}

/** Many clients submit at once. @returns the row's text */
async function measureLoad({ lab, submit }: Bench): Promise<string> {
  say(`\n${clients} clients submit for ${flags['submit-seconds']} s:`);
  const cpuBefore = cpuMs(lab.pid);
  const started = systemClock.now();
  const end = started + Number(flags['submit-seconds']) * 1000;
  const times: number[] = [];
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (systemClock.now() < end) times.push(await timed(() => submit('load', gpus)));
    }),
  );
  const perSecond = (times.length / (systemClock.now() - started)) * 1000;
  const cpu = (cpuMs(lab.pid) - cpuBefore) / times.length;
  say(`  ${perSecond.toFixed(0)} submits/s, each ${text(spread(times))}, ${cpu.toFixed(1)} ms CPU of the server`);
  return `${perSecond.toFixed(0)}/s, ${text(spread(times))}, ${cpu.toFixed(1)} ms CPU of the server each`;
}

/** Copies a waiting job until the queue is full. @returns the spread of Get before a vacuum. */
async function fillQueue({ lab, training, submit }: Bench): Promise<Spread> {
  say(`\nfilling the queue up to ${total} jobs by copies that wait for GPUs …`);
  const [{ n: before } = { n: 0 }] = await lab.sql<{ n: number }>(
    `select count(*)::int as n from training_job where state = 'pending'`,
  );
  const filled = await timed(() =>
    lab.sql(
      `insert into training_job (org_id, id, kind, model_name, model_version, model_framework, labels, arguments, dataset_id,
         dataset_version_id, manifest_sha256, seed, limits, created_by, state, attempt, losses, reported, created_on, changed_on)
       select org_id, gen_random_uuid(), kind, 'copy', n::text, model_framework, labels, arguments, dataset_id,
         dataset_version_id, manifest_sha256, seed, limits, created_by, 'pending', 0, 0, false, now(), now()
       from (select * from training_job where model_name = 'load' limit 1) job, generate_series(1, $1::integer) n`,
      [total - before],
    ),
  );
  say(`  ${total - before} copies in ${(filled / 1000).toFixed(1)} s`);
  notes.push(
    `${before} of the ${total} waiting jobs came through the API; the rest are copies of one of them, made by SQL.`,
  );
  await lab.sql('analyze training_job');
  const last = await submit('looked-at');
  const unvacuumed = await repeated(10, () => training.getTrainingJob({ id: last }));
  say(`  Get of the last before a vacuum         ${text(unvacuumed)}`);
  // Autovacuum would do this within a minute.
  await lab.sql('vacuum training_job');
  return unvacuumed;
}

async function main(): Promise<void> {
  await using lab = await JobLab.open();
  const opened = await openBench(lab);
  const { training, organizationId } = opened;
  await completeHundred(opened);
  const memoryEmpty = memoryOf(lab);
  const empty = await measureQueue(opened, 'an empty queue');
  const load = await measureLoad(opened);
  const unvacuumed = await fillQueue(opened);
  const full = await measureQueue(opened, `${total} jobs in the queue`);
  const all = await repeated(3, () => training.listTrainingJobs({ organizationId }));
  say(`  the whole list, without pages           ${text(all)}`);
  const beside = await gapsDuring(lab, () => training.listTrainingJobs({ organizationId }));
  say(`  the server is silent meanwhile at most  ${shown(beside)}`);
  const memoryAfterAll = memoryOf(lab);
  const manyLeases = await leasesPerSecond(lab);
  say(`  leases by 16 runners at once            ${manyLeases.toFixed(0)}/s`);
  const memoryFull = memoryOf(lab);

  compareQueues(empty, full, unvacuumed);
  table.push({ what: `SubmitTrainingJob, ${clients} clients at once`, full: load, aim: '–' });
  table.push({ what: 'LeaseJob, 16 runners at once', full: `${manyLeases.toFixed(0)}/s`, aim: '–' });
  table.push({ what: 'the whole list without pages', full: text(all), aim: 'answers' });
  table.push({ what: '… another call waits meanwhile at most', full: shown(beside), aim: '< 5 s, a third of a lease' });
  compareMemory('memory of the server', memoryEmpty.server, memoryFull.server);
  table.push({ what: '… just after the whole list', full: mib(memoryAfterAll.server), aim: '–' });
  compareMemory('memory of the database (proportional)', memoryEmpty.database, memoryFull.database);
  write();
}

function compareQueues(empty: Figures, full: Figures, unvacuumed: Spread): void {
  const both = (what: string, key: keyof Figures, aim: string): void => {
    const [a, b] = [empty[key], full[key]];
    table.push({ what, empty: text(a), full: text(b), ratio: (b.p50 / a.p50).toFixed(1), aim });
  };
  both('submit → first log line, a free runner', 'firstLine', 'p50 < 1 s, p95 < 3 s');
  both('cancel → stopped', 'stopped', 'p95 < 10 s');
  both('a list page of 100 jobs', 'page', '< 100 ms');
  both('a list page of one status', 'pageOfStatus', '< 100 ms');
  both('the last list page', 'lastPage', '< 100 ms');
  both('GetTrainingJob of the last in the queue', 'get', '< 100 ms');
  table.push({ what: '… before the database has vacuumed them', full: text(unvacuumed), aim: '–' });
  both('SubmitTrainingJob, alone (20 images)', 'submit', '–');
  both('LeaseJob', 'lease', '< 50 ms');
}

const mib = (value: number): string => `${Math.round(value)} MiB`;
const compareMemory = (what: string, empty: number, full: number): void =>
  void table.push({ what, empty: mib(empty), full: mib(full), ratio: (full / empty).toFixed(1), aim: '–' });

/** Returns the slowest answer of the server to a small request during `call`. */
async function gapsDuring(lab: JobLab, call: () => Promise<unknown>): Promise<number> {
  const state = { slowest: 0 };
  const done = call();
  // In a separate process: the answer of `call` keeps this one busy, too.
  const probe = spawn(process.execPath, ['-e', probing, `${lab.ready.url}/livez`], {
    env: plainEnvironment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  createInterface({ input: probe.stdout }).on('line', (line) => {
    state.slowest = Math.max(state.slowest, Number(line));
  });
  await done;
  probe.kill('SIGTERM');
  await once(probe, 'exit');
  return state.slowest;
}
const probing = `(async () => { for (;;) {
  const from = performance.now(); await (await fetch(process.argv[1])).text();
  console.log(performance.now() - from); await new Promise((go) => setTimeout(go, 10));
} })()`;

/** Sixteen runners lease jobs sequentially; each call lists the jobs that the runner runs. */
async function leasesPerSecond(lab: JobLab): Promise<number> {
  const { url } = lab.ready;
  const token = await lab.token('runner');
  const count = { leased: 0 };
  const started = systemClock.now();
  await Promise.all(
    Array.from({ length: 16 }, async (_, n) => {
      const transport = createGrpcWebTransport({
        baseUrl: url,
        interceptors: [
          (next) => (request) => {
            request.header.set('authorization', `Bearer ${token}`);
            return next(request);
          },
        ],
      });
      const client = createClient(RunnerService, transport);
      for (let turn = 0; turn < 30; turn++) {
        const { job } = await client.leaseJob({ runnerId: `many ${n} ${turn}`, kinds, gpus });
        if (job) count.leased++;
      }
    }),
  );
  return (count.leased / (systemClock.now() - started)) * 1000;
}

function write(): void {
  const load = readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ');
  const cell = (value: string | undefined): string => value ?? '';
  const lines = [
    '# The job queue, measured',
    '',
    `Written by \`npm run bench:jobs\` on ${today()}. ${thisHost()}; load ${load} at the end, server, database, runner and the clients all on it.`,
    '',
    `“Empty” and “full” are the same calls in the same run, with nothing and with ${total.toLocaleString('en')} jobs waiting. Ratios say more than milliseconds: those depend on the machine and on what else it does.`,
    '',
    '| | empty | full | ratio | aim |',
    '|---|---|---|---|---|',
    ...table.map((row) => `| ${row.what} | ${cell(row.empty)} | ${row.full} | ${cell(row.ratio)} | ${row.aim} |`),
    '',
    ...notes,
    `They ask for ${gpus} GPUs: the runner that is measured has none and is free, the runners of the leases offer them.`,
    '',
  ];
  say(`\n${lines.slice(6, -2).join('\n')}`);
  if (flags['no-file']) return;
  const file = path.join(checkout, 'docs', 'measurements', 'jobs.md');
  mkdirSync(path.dirname(file), { recursive: true });
  rmSync(file, { force: true });
  writeFileSync(file, lines.join('\n'));
  say(`written: ${path.relative(checkout, file)}`);
}

await main();
