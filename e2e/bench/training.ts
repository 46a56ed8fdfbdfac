/**
 * Trains the built-in classifiers on named sets, as a runner would. Prints the results next to the targets, with the
 * machine and its load. A set with unavailable sources is listed as missing.
 * node e2e/bench/training.ts [--sets=objects-10,kept-apart,…] [--seeds=1] [--argument=side=224 …] [--keep=FOLDER]
 * BENCH_IMAGES=FOLDER: own images, a folder per label. BENCH_TENSORFLOW_PYTHON=python: compares with TensorFlow's step.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { plainEnvironment } from '@platform/kit/node';
import { megabytesOf } from '@platform/contract/job/evaluation';
import type { Evaluation, MultiLabelEvaluation } from '@platform/contract/job/evaluation';
import { jobFiles } from '@platform/contract/job/job';
import { int8Row, printInt8 } from './int8-columns.ts';
import { writeObjects10 } from './objects-10.ts';
import { quiet, startTrainer, type Trained, trainerFile, trainIn } from './trainer-process.ts';

const program = (name: string): string => trainerFile('classification', name);

type Measured = Trained<Evaluation | MultiLabelEvaluation>;
const trainClassifier = (folder: string): Promise<Measured> => trainIn(program('src/main.ts'), folder);

interface Goal {
  what: string;
  /** Accuracy or micro F1 to reach, 0..1; absent: no target. */
  score?: number;
  seconds: number;
  megabytes: number;
}
interface BenchSet {
  goal: Goal;
  /** objects-10 is in the repository; the other sets are composed from sources on the host. */
  objects10?: { train: number; test: number };
}
const sets: Readonly<Record<string, BenchSet>> = {
  'objects-10': {
    goal: { what: '10 things × 12, other backgrounds in the test', score: 0.91, seconds: 36, megabytes: 400 },
    objects10: { train: 12, test: 20 },
  },
  'objects-10-few': {
    goal: { what: '10 things × 3', score: 0.72, seconds: 30, megabytes: 400 },
    objects10: { train: 3, test: 20 },
  },
  'kept-apart': {
    goal: {
      what: '8 thin or transparent things × 12, turned, other photographs',
      score: 0.9,
      seconds: 120,
      megabytes: 600,
    },
  },
  'stamps-9': {
    goal: { what: '9 broad categories, test things never seen', score: 0.82, seconds: 60, megabytes: 400 },
  },
  'objects-10-multi': { goal: { what: '1 to 3 of 10 things, micro F1', score: 0.85, seconds: 60, megabytes: 450 } },
  'stamps-6-multi': {
    goal: { what: 'development: 1 to 3 of 6 categories, objects unseen, micro F1', seconds: 60, megabytes: 450 },
  },
  'drawings-8-multi': {
    goal: { what: '1 to 3 of 8 categories of drawings, objects unseen, micro F1', seconds: 60, megabytes: 450 },
  },
  elpv: { goal: { what: 'solar cells, functional or defective', score: 0.86, seconds: 600, megabytes: 700 } },
  folder: { goal: { what: 'images in BENCH_IMAGES', seconds: Infinity, megabytes: Infinity } },
};
const { values: flags } = parseArgs({
  options: {
    sets: { type: 'string', default: Object.keys(sets).join(',') },
    seeds: { type: 'string', default: '1' },
    argument: { type: 'string', multiple: true, default: [] },
    keep: { type: 'string' },
    only: { type: 'string', default: 'sets,memory,cancel,speed' },
  },
});

/** @returns false if the set is unavailable. */
async function compose(name: string, folder: string, seed: number): Promise<boolean> {
  const own = sets[name]?.objects10;
  if (own) {
    await writeObjects10(folder, { seed, ...own, arguments: flags.argument });
    return true;
  }
  const args = [program('bench/compose.ts'), `--set=${name}`, `--folder=${folder}`, `--seed=${seed}`];
  const given = flags.argument.map((one) => `--argument=${one}`);
  const { status } = spawnSync(process.execPath, [...quiet, ...args, ...given], {
    env: plainEnvironment(),
    stdio: 'inherit',
  });
  if (status !== 0 && status !== 3) throw new Error(`composing ${name} ended with ${status}`);
  return status === 0;
}
const percent = (x: number | null | undefined): string =>
  x === null || x === undefined ? '–' : `${(100 * x).toFixed(1)} %`;
const load = (): string => loadavg()[0]?.toFixed(1) ?? '';
const scoresOf = (evaluation: Measured['evaluation']): (number | undefined)[] =>
  evaluation.task === 'single_label_classification'
    ? [evaluation.accuracy, evaluation.probe?.accuracy, evaluation.fine_tuned?.accuracy]
    : [evaluation.micro_f1, evaluation.probe?.micro_f1, evaluation.fine_tuned?.micro_f1];
/** Mean average precision does not depend on thresholds. */
const rankingOf = (evaluation: Measured['evaluation']): string =>
  evaluation.task === 'single_label_classification'
    ? ''
    : `; mAP ${[evaluation, evaluation.probe, evaluation.fine_tuned].map((one) => one?.mean_average_precision.toFixed(3) ?? '–').join(', ')}`;

function print(
  name: string,
  seed: number,
  { goal }: BenchSet,
  { evaluation, wallSeconds, cpuSeconds }: Measured,
): void {
  const [score = 0, probe, tuned] = scoresOf(evaluation);
  const { machine, images, side, chosen, files, seconds } = evaluation;
  const reached =
    goal.score === undefined ? '' : ` (aim ${percent(goal.score)}: ${score >= goal.score ? 'reached' : 'missed'})`;
  const limit = (x: number): string => (Number.isFinite(x) ? ` (aim ${x})` : '');
  console.log(
    `${name}, seed ${seed}: ${percent(score)}${reached}; ${wallSeconds.toFixed(0)} s${limit(goal.seconds)}, ${cpuSeconds.toFixed(0)} s CPU; ` +
      `${megabytesOf(machine.peak_rss_mib)} MB${limit(goal.megabytes)}; load ${load()}`,
  );
  const sizes = files.map(
    (file) =>
      `${file.file} ${(file.size_bytes / 1e6).toFixed(1)} MB, differs ${file.max_difference?.toExponential(0) ?? '–'}`,
  );
  console.log(`  ${goal.what}: ${images.train}/${images.validation}/${images.test} images, ${side} px`);
  console.log(
    `  probe ${percent(probe)} after ${seconds.probe} s, fine-tuned ${percent(tuned)} after ${seconds.fine_tune} s, ${chosen} chosen${rankingOf(evaluation)}; ` +
      `${evaluation.model.latency_ms} ms per image; ${sizes.join('; ')}`,
  );
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = flags.keep ?? (await mkdtemp(path.join(tmpdir(), 'bench-training-')));
  try {
    return await work(folder);
  } finally {
    if (flags.keep === undefined) await rm(folder, { recursive: true, force: true });
  }
}

async function measureSets(): Promise<void> {
  const int8: string[][] = [];
  for (const name of flags.sets.split(',')) {
    const set = sets[name];
    if (!set) throw new Error(`there is no set ${name}; there are ${Object.keys(sets).join(', ')}`);
    for (const seed of flags.seeds.split(',').map(Number)) {
      await inFolder(async (folder) => {
        if (!(await compose(name, folder, seed))) {
          console.log(`${name}: its images are not available here`);
          return;
        }
        const measured = await trainClassifier(folder);
        print(name, seed, set, measured);
        int8.push(int8Row(`${name}, seed ${seed}`, measured.evaluation));
      });
    }
  }
  printInt8(int8);
}

/** Compares with ten times as many images, for one epoch. */
async function measureMemory(): Promise<void> {
  for (const train of [20, 200]) {
    await inFolder(async (folder) => {
      await writeObjects10(folder, { seed: 1, train, test: 1, arguments: ['epochs=1', 'side=160'] });
      const { evaluation, wallSeconds } = await trainClassifier(folder);
      console.log(
        `memory: ${train * 10} images, ${megabytesOf(evaluation.machine.peak_rss_mib)} MB, ${wallSeconds.toFixed(0)} s`,
      );
    });
  }
}

/** Measures from SIGTERM in the middle of an epoch to the exit of the process. */
async function measureCancel(): Promise<void> {
  await inFolder(async (folder) => {
    await writeObjects10(folder, { seed: 1, train: 12, test: 1, arguments: ['epochs=200'] });
    const { child, ended } = startTrainer(program('src/main.ts'), folder);
    const events = path.join(folder, jobFiles.events);
    for (;;) {
      const text = await readFile(events, 'utf8').catch(() => '');
      if (text.includes('"stage":"fine-tune"')) break;
      await new Promise((resolve) => setImmediate(resolve));
    }
    const asked = performance.now();
    child.kill('SIGTERM');
    const { code } = await ended;
    console.log(
      `cancel: stopped ${(performance.now() - asked).toFixed(0)} ms after SIGTERM (aim 2000), exit code ${code}`,
    );
  });
}

interface Speed {
  from: number;
  cpu_ms: number;
  rss_mib: number;
}
/** For each network the first trained convolution: all, those that fine-tuning trains, none but the linear layer. */
const trainedFrom: Readonly<Record<string, readonly number[]>> = {
  mobilenet: [0, 30, 46],
  Lite0: [0, 24, 49],
  Lite2: [0, 33, 64],
};
const rounds = 3;
const stepsPerRound = 24;

function speedOf(command: string, args: readonly string[]): Speed | undefined {
  const { status, stdout } = spawnSync(command, args, { env: plainEnvironment(), encoding: 'utf8' });
  const line = stdout?.split('\n').find((one) => one.startsWith('{'));
  return status === 0 && line !== undefined ? (JSON.parse(line) as Speed) : undefined;
}
/** The median of an odd number of rounds. */
function middleOf(speeds: readonly (Speed | undefined)[]): Speed | undefined {
  const sorted = speeds.filter((one) => one !== undefined).toSorted((a, b) => a.cpu_ms - b.cpu_ms);
  return sorted.length === speeds.length ? sorted[sorted.length >> 1] : undefined;
}
/** Alternates between separate processes: neither memory nor short load peaks favour one side. */
function measureSpeed(): void {
  const python = process.env['BENCH_TENSORFLOW_PYTHON'];
  const cases = Object.entries(trainedFrom).flatMap(([network, froms]) => froms.map((from) => ({ network, from })));
  for (const { network, from } of cases) {
    const pairs = Array.from({ length: rounds }, () => {
      const own = [program('bench/speed.ts'), `--network=${network}`, `--from=${from}`, `--steps=${stepsPerRound}`];
      const ours = speedOf(process.execPath, [...quiet, ...own]);
      const theirs =
        python && speedOf(python, [program('bench/keras-step.py'), `${stepsPerRound}`, `${from}`, network]);
      return { ours, theirs: theirs === '' ? undefined : theirs };
    });
    const ours = middleOf(pairs.map((one) => one.ours));
    if (!ours) throw new Error('speed.ts failed');
    const other = middleOf(pairs.map((one) => one.theirs));
    const { cpu_ms: cpu, rss_mib: rss } = ours;
    const beside = other
      ? `TensorFlow ${other.cpu_ms.toFixed(1)} ms, ${megabytesOf(other.rss_mib)} MB: ours takes ${(cpu / other.cpu_ms).toFixed(2)} of its time`
      : 'TensorFlow is not here (BENCH_TENSORFLOW_PYTHON)';
    console.log(
      `speed, ${network} trained from convolution ${from}: ${cpu.toFixed(1)} ms CPU per image, ${megabytesOf(rss)} MB; ${beside}`,
    );
  }
}

const model = cpus()[0]?.model;
console.log(`${model}, ${availableParallelism()} cores, load ${load()}, Node ${process.version}`);
const only = new Set(flags.only.split(','));
if (only.has('sets')) await measureSets();
if (only.has('memory')) await measureMemory();
if (only.has('cancel')) await measureCancel();
if (only.has('speed')) measureSpeed();
