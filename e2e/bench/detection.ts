/**
 * Trains the built-in detector on named sets, as a runner would. Prints the results next to the targets, with the
 * machine and its load. A set with unavailable sources is listed as missing.
 * node e2e/bench/detection.ts [--sets=detect-6,detect-5,own-6] [--seeds=1] [--argument=side=224 …] [--keep=FOLDER]
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { plainEnvironment } from '@platform/kit/node';
import { megabytesOf } from '@platform/contract/job/evaluation';
import type { DetectionEvaluation } from '@platform/contract/job/evaluation';
import { int8Row, printInt8 } from './int8-columns.ts';
import { quiet, trainerFile, trainIn } from './trainer-process.ts';

const program = (name: string): string => trainerFile('detection', name);
/** Exit code of compose.ts if the sources are unavailable. */
const absent = 3;

interface BenchSet {
  what: string;
  train: number;
  test: number;
  /** mAP at IoU 0.5 and 0.75: the minimum and the target. */
  least?: readonly [number, number];
  aim?: readonly [number, number];
  seconds: number;
  megabytes: number;
}
const sets: Readonly<Record<string, BenchSet>> = {
  'detect-6': {
    what: '1 to 3 of 6 things, other backgrounds in the test',
    train: 60,
    test: 60,
    least: [0.67, 0.55],
    aim: [0.8, 0.65],
    seconds: 90,
    megabytes: 500,
  },
  'detect-5': {
    what: '1 to 3 things of 5 categories, test things never seen',
    train: 200,
    test: 60,
    least: [0.63, 0.5],
    aim: [0.72, 0.58],
    seconds: 150,
    megabytes: 500,
  },
  'own-6': {
    what: '1 to 3 of 6 cut-outs of objects-10 on 5 backgrounds, 5 others in the test',
    train: 60,
    test: 60,
    seconds: 90,
    megabytes: 500,
  },
};
const { values: flags } = parseArgs({
  options: {
    sets: { type: 'string', default: Object.keys(sets).join(',') },
    seeds: { type: 'string', default: '1' },
    argument: { type: 'string', multiple: true, default: [] },
    keep: { type: 'string' },
  },
});

/** @returns false if the set is unavailable. */
function compose(name: string, { train, test }: BenchSet, folder: string, seed: number): boolean {
  const { status } = spawnSync(
    process.execPath,
    [
      ...quiet,
      program('bench/compose.ts'),
      `--set=${name}`,
      `--folder=${folder}`,
      `--train=${train}`,
      `--test=${test}`,
      `--seed=${seed}`,
      ...flags.argument.map((one) => `--argument=${one}`),
    ],
    { env: plainEnvironment(), stdio: ['ignore', 'inherit', 'ignore'] },
  );
  if (status !== 0 && status !== absent) throw new Error(`composing ${name} ended with ${status}`);
  return status === 0;
}

const percent = (x: number): string => (100 * x).toFixed(1);
const pair = ([a, b]: readonly [number, number]): string => `${percent(a)} / ${percent(b)}`;
const load = (): string => loadavg()[0]?.toFixed(1) ?? '';

function comparison({ least, aim }: BenchSet, found: readonly [number, number]): string {
  if (!least || !aim) return '';
  const reaches = (goal: readonly [number, number]): string =>
    found[0] >= goal[0] && found[1] >= goal[1] ? 'reached' : 'missed';
  return ` (at least ${pair(least)}: ${reaches(least)}; aim ${pair(aim)}: ${reaches(aim)})`;
}

console.log(`${cpus()[0]?.model}, ${availableParallelism()} cores, load ${load()}, Node ${process.version}`);
const int8: string[][] = [];
for (const name of flags.sets.split(',')) {
  const set = sets[name];
  if (!set) throw new Error(`there is no set ${name}; there are ${Object.keys(sets).join(', ')}`);
  for (const seed of flags.seeds.split(',').map(Number)) {
    const folder = flags.keep ?? (await mkdtemp(path.join(tmpdir(), 'bench-detection-')));
    try {
      if (!compose(name, set, folder, seed)) {
        console.log(`${name}: its images are not available here (Debian's packages are needed)`);
        continue;
      }
      const { evaluation, wallSeconds, cpuSeconds } = await trainIn<DetectionEvaluation>(
        program('src/main.ts'),
        folder,
      );
      const { map50, map75, map, machine, seconds, chosen, probe, model, files, per_class, images } = evaluation;
      console.log(
        `${name}, seed ${seed}: mAP50 / mAP75 ${pair([map50, map75])}${comparison(set, [map50, map75])}, mAP ${percent(map)}; ` +
          `${wallSeconds.toFixed(0)} s (aim ${set.seconds} on two idle cores), ${cpuSeconds.toFixed(0)} s CPU; ${megabytesOf(machine.peak_rss_mib)} MB (aim ${set.megabytes}); load ${load()}`,
      );
      console.log(`  ${set.what}: ${images.train}/${images.validation}/${images.test} images`);
      console.log(
        `  probe ${probe ? pair([probe.map50, probe.map75]) : '–'} after ${seconds.probe} s, longer training ${seconds.fine_tune} s, ${chosen} chosen; ` +
          `${model.latency_ms} ms per image; ${files.map((file) => `${file.file} ${(file.size_bytes / 1e6).toFixed(1)} MB, differs ${file.max_difference?.toExponential(0) ?? '–'}`).join('; ')}`,
      );
      int8.push(int8Row(`${name}, seed ${seed}`, evaluation));
      console.log(`  AP50: ${per_class.map(({ label, ap50 }) => `${label} ${percent(ap50)}`).join(', ')}`);
    } finally {
      if (flags.keep === undefined) await rm(folder, { recursive: true, force: true });
    }
  }
}
printInt8(int8);
