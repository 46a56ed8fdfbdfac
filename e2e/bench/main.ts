// npm run bench [NAME …]: prints measurements with the machine. No measurement passes or fails by a time.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { plainEnvironment } from '@platform/kit/node';

const benches: Readonly<Record<string, string>> = {
  check: 'CPU per config check: fast path, Connect and gRPC of the same server',
  attack: 'requests without valid credentials: CPU of each kind, and what another user waits meanwhile',
  patch: 'patches between versions of the programs: size, time, memory, beside xdelta3',
  jobs: 'the job queue with 100,000 jobs in it: submits, leases, lists, first log line, cancel, memory',
  fleet: 'a fleet of agents: memory and CPU per agent, restart of the server, a release for all, log lines',
  list: 'queries of 10,000 machines: processor of server and database, facets, previews',
  web: 'the web app with 10,000 machines and 1,000,000 log lines: queries, pages in a browser, searches',
  sizes: 'what a machine, an image, a log line and a job cost: disk, memory, traffic',
  agent: 'the compiled agent: file, start, idle memory, processor, wire and disk, updates by patch',
  imports: 'plans of imports with 100,000 annotations: seconds, peak memory',
  training: 'the classification trainers on named sets: accuracy, seconds, memory; cancel; a step beside TensorFlow',
  recipes: 'every recipe of the trainers in one table: score, seconds, memory, file',
  detection: 'the object detection trainer on named sets: mAP, seconds, memory',
  gpu: 'trainings on the GPU of this computer beside its CPU, and a training script in the sandbox with a GPU',
};

const wanted = process.argv.slice(2);
const unknown = wanted.find((name) => !Object.hasOwn(benches, name));
if (unknown !== undefined) {
  const list = Object.entries(benches).map(([name, what]) => `  ${name}  ${what}`);
  process.stderr.write(`There is no benchmark ${unknown}. These are:\n${list.join('\n')}\n`);
  process.exit(2);
}

const cpu = os.cpus()[0]?.model ?? 'unknown CPU';
const memory = Math.round(os.totalmem() / 2 ** 30);
const load =
  os.platform() === 'linux'
    ? readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).join(' ')
    : os.loadavg().join(' ');
process.stdout.write(
  `${cpu}, ${os.cpus().length} cores, ${memory} GiB, ${os.type()} ${os.release()}, Node ${process.version}, load ${load}\n`,
);
for (const name of wanted.length === 0 ? Object.keys(benches) : wanted) {
  process.stdout.write(`\n== ${name}: ${benches[name]}\n`);
  const done = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', path.join(import.meta.dirname, `${name}.ts`)],
    { env: plainEnvironment(), stdio: 'inherit' },
  );
  if (done.status !== 0) process.exitCode = 1;
}
