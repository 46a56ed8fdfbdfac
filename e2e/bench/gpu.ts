/**
 * Runs built-in trainings on this host's GPU and, for the ratio, on its CPU alone. Then runs a training script in the
 * sandbox with the requested GPU, and without one. Then runs a job from submit to model on its own server and runner.
 * Needs an NVIDIA GPU, and ONNX Runtime's CUDA provider (docs/trainers.md).
 * node e2e/bench/gpu.ts [--only=trainers,script,job] [--torch=/path/to/a/python/with/torch]
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { megabytesOf } from '@platform/contract/job/evaluation';
import type { DetectionEvaluation, Evaluation } from '@platform/contract/job/evaluation';
import { type DatasetLine, jobFiles, modelFiles, trainerMalloc } from '@platform/contract/job/job';
import { startCloud } from '../src/cloud-process.ts';
import { startRunner } from '../src/runner-process.ts';
import { runCli } from '../src/up-process.ts';
import { writeObjects10 } from './objects-10.ts';
import { plainEnvironment } from '@platform/kit/node';

const file = (name: string): string => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const { values: flags } = parseArgs({
  options: { only: { type: 'string', default: 'trainers,script,job' }, torch: { type: 'string' } },
});
const quiet = ['--disable-warning=ExperimentalWarning'];

/** @returns the exit code. */
function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv): number | null {
  return spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], env }).status;
}

function train(trainer: string, folder: string, env: NodeJS.ProcessEnv): { seconds: number; text: string } {
  rmSync(path.join(folder, jobFiles.out), { recursive: true, force: true });
  const started = performance.now();
  const code = run(
    process.execPath,
    [
      ...quiet,
      file(`trainers/${trainer}/src/main.ts`),
      `--dataset_file=${path.join(folder, jobFiles.dataset)}`,
      `--model_output_directory=${path.join(folder, jobFiles.out)}`,
      `--job_file=${path.join(folder, jobFiles.job)}`,
      `--events_file=${path.join(folder, jobFiles.events)}`,
    ],
    { ...env, ...trainerMalloc },
  );
  if (code !== 0) throw new Error(`the ${trainer} trainer ended with ${code}`);
  return {
    seconds: (performance.now() - started) / 1000,
    text: readFileSync(path.join(folder, jobFiles.out, modelFiles.evaluation), 'utf8'),
  };
}

async function compose(trainer: string, folder: string): Promise<void> {
  if (trainer === 'classification') return writeObjects10(folder, { seed: 1, train: 12, test: 20, arguments: [] });
  const args = [file('trainers/detection/bench/compose.ts'), '--set=own-6', `--folder=${folder}`, '--seed=1'];
  if (run(process.execPath, [...quiet, ...args], plainEnvironment()) !== 0) throw new Error('own-6 was not composed');
}

/** Submits a built-in training that requests a GPU, and prints the output of its job and its runner. */
async function trainAsJob(data: string, images: string): Promise<void> {
  const lines = readFileSync(path.join(data, jobFiles.dataset), 'utf8').trim().split('\n');
  for (const line of lines.map((one) => JSON.parse(one) as DatasetLine)) {
    const label = line.classification_annotations[0]?.annotation_label ?? '';
    const target = path.join(images, line.split === 'test' ? 'test' : 'train', label);
    mkdirSync(target, { recursive: true });
    cpSync(path.join(data, line.image_path), path.join(target, line.file_name));
  }
  await using cloud = await startCloud();
  const { ready } = cloud;
  await using _runner = await startRunner(ready);
  const env = { PLATFORM_URL: ready.url, PLATFORM_API_KEY_ID: ready.api_key_id, PLATFORM_API_KEY: ready.api_key };
  const submit = ['train', 'submit', '--dataset', 'parts', '--model-name', 'parts', '--model-type', 'single-label'];
  for (const args of [
    ['dataset', 'upload', 'parts', images, '--create'],
    [...submit, '--model-version', '1', '--gpus', '1', '--wait'],
    ['train', 'logs', 'parts'],
  ]) {
    const { code, stdout, stderr } = await runCli(env, ...args);
    console.log(`$ platform ${args.slice(0, 2).join(' ')}: exit code ${code}`);
    for (const line of `${stdout}${code === 0 ? '' : stderr}`.trim().split('\n').slice(-25)) console.log(`  ${line}`);
  }
}

const withoutGpu: NodeJS.ProcessEnv = plainEnvironment({ CUDA_VISIBLE_DEVICES: '' });
const folder = mkdtempSync(path.join(tmpdir(), 'bench-gpu-'));
try {
  if (flags.only.includes('trainers')) {
    for (const trainer of ['classification', 'detection']) {
      const job = path.join(folder, trainer);
      await compose(trainer, job);
      const times: number[] = [];
      for (const env of [process.env, withoutGpu]) {
        const { seconds, text } = train(trainer, job, env);
        const evaluation = JSON.parse(text) as Evaluation | DetectionEvaluation;
        const score =
          evaluation.task === 'object_detection'
            ? `mAP50 ${(100 * evaluation.map50).toFixed(1)} %`
            : `accuracy ${(100 * evaluation.accuracy).toFixed(1)} %`;
        times.push(seconds);
        console.log(
          `${trainer} on ${evaluation.device.name}: ${seconds.toFixed(1)} s, ${score}. ${evaluation.device.reason}`,
        );
        console.log(
          `  ${megabytesOf(evaluation.machine.peak_rss_mib)} MB; seconds of its parts: ${JSON.stringify(evaluation.seconds)}`,
        );
      }
      console.log(`${trainer}: GPU / CPU = ${((times[0] ?? 0) / (times[1] ?? 1)).toFixed(2)} of the time`);
    }
  }
  if (flags.only.includes('script')) {
    const data = path.join(folder, 'script-data');
    await writeObjects10(data, { seed: 1, train: 12, test: 20, arguments: [] });
    for (const gpus of ['1', '0']) {
      console.log(`training script in the sandbox, --gpus ${gpus}:`);
      const code = run(
        process.execPath,
        [
          ...quiet,
          file('apps/cli/src/main.ts'),
          'training-script',
          'test-local',
          `--gpus=${gpus}`,
          `--path=${file('e2e/bench/gpu-script')}`,
          `--dataset-root=${data}`,
          `--dataset-file=${jobFiles.dataset}`,
          `--output=${path.join(folder, `out-${gpus}`)}`,
          ...(flags.torch === undefined ? [] : [`--script-python=torch=${flags.torch}`, '--container=torch']),
        ],
        process.env,
      );
      console.log(`  exit code ${code}`);
    }
  }
  if (flags.only.includes('job')) {
    const data = path.join(folder, 'job-data');
    await writeObjects10(data, { seed: 1, train: 12, test: 20, arguments: [] });
    await trainAsJob(data, path.join(folder, 'images'));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
