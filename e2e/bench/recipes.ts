/**
 * Every recipe of the built-in trainers in one table: score, time, memory, file. `--beside=CHECKOUT` puts the recipe
 * that is the default of another checkout (with its packages installed) into the same run, on the same images.
 * node e2e/bench/recipes.ts [--sets=objects-10,stamps-6-multi,own-6] [--recipes=compact] [--beside=CHECKOUT] [--seed=1]
 *   [--job-seeds=1,2,3]: one row per seed of the training, on the images of --seed
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { plainEnvironment } from '@platform/kit/node';
import type { AnyEvaluation } from '@platform/contract/job/evaluation';
import { scoreText } from '@platform/contract/job/confidence';
import { megabytesOf } from '@platform/contract/job/evaluation';
import { jobFiles, type JobFile } from '@platform/contract/job/job';
import type { RecipeName } from '@platform/contract/job/trainer-settings';
import { writeObjects10 } from './objects-10.ts';
import { quiet, type TrainerName, trainerFile, trainIn } from './trainer-process.ts';

interface RecipeSet {
  what: string;
  trainer: TrainerName;
  /** Arguments of the trainer's compose.ts; absent: objects-10 of the repository. */
  compose?: readonly string[];
}
const recipes: readonly RecipeName[] = ['probe', 'compact', 'accurate', 'auto'];
const classification = (what: string): RecipeSet => ({
  what,
  trainer: 'classification',
  compose: [],
});
const detection = (what: string, train: number): RecipeSet => ({
  what,
  trainer: 'detection',
  compose: [`--train=${train}`, '--test=60'],
});
const sets: Readonly<Record<string, RecipeSet>> = {
  'objects-10': { what: '10 objects × 12, other backgrounds', trainer: 'classification' },
  'stamps-6-multi': classification('several labels: 1 to 3 of 6 categories, objects unseen'),
  'own-6': detection('detection: 1 to 3 of 6 objects, other backgrounds', 60),
  // Named test sets: once for a change, with the recipes that users run.
  'objects-10-multi': classification('several labels: 1 to 3 of 10 objects'),
  'drawings-8-multi': classification('several labels: 1 to 3 of 8 categories of drawings, objects unseen'),
  'kept-apart': classification('8 thin or transparent objects × 12, rotated, other photographs'),
  'stamps-9': classification('9 broad categories, objects unseen'),
  elpv: classification('solar cells, functional or defective'),
  'detect-6': detection('detection: 1 to 3 of 6 objects, other backgrounds', 60),
  'detect-5': detection('detection: 1 to 3 of 5 categories, objects unseen', 200),
};
const { values: flags } = parseArgs({
  options: {
    sets: { type: 'string', default: 'objects-10,stamps-6-multi,own-6' },
    recipes: { type: 'string' },
    beside: { type: 'string' },
    seed: { type: 'string', default: '1' },
    'job-seeds': { type: 'string' },
  },
});

/** @returns false if the sources of the set are unavailable. */
async function compose(name: string, { trainer, compose: args }: RecipeSet, folder: string): Promise<boolean> {
  if (!args) {
    await writeObjects10(folder, { seed: Number(flags.seed), train: 12, test: 20, arguments: [] });
    return true;
  }
  const command = [`--set=${name}`, `--folder=${folder}`, `--seed=${flags.seed}`, ...args];
  const { status } = spawnSync(process.execPath, [...quiet, trainerFile(trainer, 'bench/compose.ts'), ...command], {
    env: plainEnvironment(),
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0 && status !== 3) throw new Error(`composing ${name} ended with ${status}`);
  return status === 0;
}

/** With its 95 % interval. */
function scoreOf(evaluation: AnyEvaluation): string {
  const text = (name: string, score: number): string => `${name} ${scoreText(name, score, evaluation.count)}`;
  if (evaluation.task === 'single_label_classification') {
    const before = evaluation.calibration?.accuracy_before;
    const without = before === undefined ? '' : `, without offsets ${(100 * before).toFixed(1)} %`;
    return `${text('accuracy', evaluation.accuracy)}${without}`;
  }
  if (evaluation.task === 'object_detection')
    return `${text('mAP50', evaluation.map50)}, ${text('mAP75', evaluation.map75)}`;
  return `${text('mAP', evaluation.mean_average_precision)}, ${text('micro F1', evaluation.micro_f1)}`;
}

interface Row {
  /** Undefined: the trainer's default. */
  recipe?: string;
  seed: number;
  /** Another checkout. */
  root?: string;
}
async function rowOf(folder: string, set: RecipeSet, { recipe, seed, root }: Row): Promise<string> {
  const jobFile = path.join(folder, jobFiles.job);
  const job = JSON.parse(await readFile(jobFile, 'utf8')) as JobFile;
  await writeFile(jobFile, JSON.stringify({ ...job, seed, arguments: recipe === undefined ? {} : { recipe } }));
  for (const left of [jobFiles.out, jobFiles.events])
    await rm(path.join(folder, left), { recursive: true, force: true });
  const program = trainerFile(set.trainer, 'src/main.ts', root);
  const { evaluation, wallSeconds, cpuSeconds } = await trainIn<AnyEvaluation>(program, folder);
  const { model, machine } = evaluation;
  const cells = [
    set.what,
    root === undefined ? `\`${recipe}\`` : 'before',
    scoreOf(evaluation),
    cpuSeconds.toFixed(0),
    wallSeconds.toFixed(0),
    String(megabytesOf(machine.peak_rss_mib)),
    (model.size_bytes / 1e6).toFixed(1),
    String(model.latency_ms),
    loadavg()[0]?.toFixed(1) ?? '',
  ];
  return `| ${cells.join(' | ')} |`;
}

console.log(`${cpus()[0]?.model}, ${availableParallelism()} cores, Node ${process.version}`);
console.log(
  '| set | recipe | score | CPU s | seconds | MB | file, MB | ms per image | load |\n|---|---|---|---|---|---|---|---|---|',
);
for (const name of flags.sets.split(',')) {
  const set = sets[name];
  if (!set) throw new Error(`there is no set ${name}; there are ${Object.keys(sets).join(', ')}`);
  const folder = await mkdtemp(path.join(tmpdir(), 'bench-recipes-'));
  try {
    if (!(await compose(name, set, folder))) {
      console.log(`${name}: its images are not available here`);
      continue;
    }
    for (const seed of (flags['job-seeds'] ?? flags.seed).split(',').map(Number)) {
      if (flags.beside !== undefined) console.log(await rowOf(folder, set, { seed, root: path.resolve(flags.beside) }));
      for (const recipe of flags.recipes?.split(',') ?? recipes)
        console.log(await rowOf(folder, set, { recipe, seed }));
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
