/**
 * Trains the built-in classifier on objects-10, as a runner would, and prints what came out with the machine and its load.
 *   node e2e/bench/training.ts [--seeds=1,2] [--train=12] [--test=20] [--recipe=auto] [--epochs=12] [--side=160] [--keep=FOLDER]
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Evaluation } from '@platform/contract/evaluation';
import type { DatasetLine, JobFile } from '@platform/contract/job';
import { jobFiles, modelFiles, picturePath } from '@platform/contract/job';
import { composeObjects10 } from '@platform/objects-10';

const trainer = fileURLToPath(new URL('../../trainers/classification/src/main.ts', import.meta.url));
const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1' },
    train: { type: 'string', default: '12' },
    test: { type: 'string', default: '20' },
    recipe: { type: 'string', default: 'auto' },
    epochs: { type: 'string' },
    side: { type: 'string' },
    keep: { type: 'string' },
  },
});

async function jobFolder(folder: string, seed: number): Promise<void> {
  await mkdir(path.join(folder, jobFiles.pictures), { recursive: true });
  const lines: DatasetLine[] = [];
  const options = { seed, trainPerClass: Number(flags.train), testPerClass: Number(flags.test) };
  for await (const { name, label, split, jpeg } of composeObjects10(options)) {
    const sha256 = createHash('sha256').update(jpeg).digest('hex');
    const line = { sha256, file_name: name, size_bytes: jpeg.byteLength, split };
    const image_path = picturePath(line);
    await writeFile(path.join(folder, image_path), jpeg);
    lines.push({
      ...line,
      image_path,
      classification_annotations: [{ annotation_label: label }],
      bounding_box_annotations: [],
      timestamp: '2026-01-01 00:00:00 +0000 UTC',
      part_id: '',
      component_name: '',
    });
  }
  await writeFile(path.join(folder, jobFiles.dataset), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const job: JobFile = {
    id: 'bench',
    attempt: 1,
    org_id: 'bench',
    kind: 'single_label_classification',
    model_name: 'objects',
    model_version: 'bench',
    labels: [],
    arguments: {
      recipe: flags.recipe,
      ...(flags.epochs === undefined ? {} : { epochs: flags.epochs }),
      ...(flags.side === undefined ? {} : { side: flags.side }),
    },
    seed,
    limits: { wall_seconds: 3600, memory_mib: 4096, disk_mib: 4096 },
    deadline: '2100-01-01T00:00:00Z',
    command: [],
  };
  await writeFile(path.join(folder, jobFiles.job), JSON.stringify(job));
}

async function trainIn(folder: string): Promise<{ evaluation: Evaluation; wallSeconds: number }> {
  const started = performance.now();
  const child = spawn(
    process.execPath,
    [
      trainer,
      `--dataset_file=${path.join(folder, jobFiles.dataset)}`,
      `--model_output_directory=${path.join(folder, jobFiles.out)}`,
      `--job_file=${path.join(folder, jobFiles.job)}`,
      `--events_file=${path.join(folder, jobFiles.events)}`,
    ],
    // As the runner starts it.
    { stdio: 'inherit', env: { ...process.env, MALLOC_ARENA_MAX: '2' } },
  );
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`the trainer ended with ${code}`);
  const text = await readFile(path.join(folder, jobFiles.out, modelFiles.evaluation), 'utf8');
  return { evaluation: JSON.parse(text) as Evaluation, wallSeconds: (performance.now() - started) / 1000 };
}

const percent = (x: number | null | undefined): string =>
  x === null || x === undefined ? '–' : `${(100 * x).toFixed(1)} %`;

console.log(
  `${cpus()[0]?.model}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}, Node ${process.version}`,
);
for (const seed of flags.seeds.split(',').map(Number)) {
  const folder = flags.keep ?? (await mkdtemp(path.join(tmpdir(), 'bench-training-')));
  try {
    await jobFolder(folder, seed);
    const { evaluation, wallSeconds } = await trainIn(folder);
    const { accuracy, count, probe, fine_tuned, chosen, machine, seconds, curve, model, per_class } = evaluation;
    console.log(
      `seed ${seed}: ${percent(accuracy)} of ${count} (${chosen}; probe ${percent(probe?.accuracy)}, fine-tuned ${percent(fine_tuned?.accuracy)}), ` +
        `${wallSeconds.toFixed(1)} s wall, ${machine.peak_rss_mib} MiB, load ${loadavg()[0]?.toFixed(1)}`,
    );
    console.log(
      `  ${JSON.stringify(seconds)} ${model.size_bytes} bytes, ${model.latency_ms} ms/picture, differs ${model.max_difference.toExponential(1)}`,
    );
    const points = curve.map(
      (p) =>
        `${p.epoch}: ${p.loss.toFixed(2)}/${p.validation_loss?.toFixed(2)} ${percent(p.validation_accuracy)} ${p.seconds}s`,
    );
    console.log(`  ${points.join('; ')}`);
    console.log(`  ${per_class.map((one) => `${one.label} ${percent(one.recall)}`).join(', ')}`);
  } finally {
    if (flags.keep === undefined) await rm(folder, { recursive: true, force: true });
  }
}
