/** Runs a built-in trainer on a job folder, as the runner starts it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { jobFiles, modelFiles, trainerMalloc } from '@platform/contract/job/job';
import { checkout } from '../src/up-process.ts';
import { plainEnvironment } from '@platform/kit/node';

export type TrainerName = 'classification' | 'detection';

export const quiet = ['--disable-warning=ExperimentalWarning'];

/** @param root - the checkout with the trainer */
export const trainerFile = (trainer: TrainerName, file: string, root: string = checkout): string =>
  path.join(root, 'trainers', trainer, file);

interface Started {
  child: ChildProcess;
  /** Resolves to the exit code and what bash's `time` and the trainer wrote to the standard error. */
  ended: Promise<{ code: number | null; errors: string }>;
}

/** The process is the trainer itself or, `timed`, bash that reports the CPU time of the trainer. */
export function startTrainer(program: string, folder: string, { timed = false } = {}): Started {
  const command = [
    process.execPath,
    ...quiet,
    program,
    `--dataset_file=${path.join(folder, jobFiles.dataset)}`,
    `--model_output_directory=${path.join(folder, jobFiles.out)}`,
    `--job_file=${path.join(folder, jobFiles.job)}`,
    `--events_file=${path.join(folder, jobFiles.events)}`,
  ];
  const [file = '', ...args] = timed
    ? ['bash', '-c', 'TIMEFORMAT="CPU %U %S"; time "$@"', 'bash', ...command]
    : command;
  const child = spawn(file, args, {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: plainEnvironment({ ...trainerMalloc }),
  });
  let errors = '';
  child.stderr?.on('data', (text: Buffer) => (errors += text.toString()));
  const ended = new Promise<{ code: number | null; errors: string }>((resolve) =>
    child.once('close', (code) => resolve({ code, errors })),
  );
  return { child, ended };
}

export interface Trained<E> {
  evaluation: E;
  wallSeconds: number;
  /** CPU time of all threads: other work on the machine hardly changes it. */
  cpuSeconds: number;
}

/** @throws Error if the trainer fails */
export async function trainIn<E>(program: string, folder: string): Promise<Trained<E>> {
  const started = performance.now();
  const { code, errors } = await startTrainer(program, folder, { timed: true }).ended;
  if (code !== 0) throw new Error(`the trainer ended with ${code}: ${errors}`);
  const wallSeconds = (performance.now() - started) / 1000;
  const [, user = 0, system = 0] = /CPU ([\d.]+) ([\d.]+)/.exec(errors) ?? [];
  const text = await readFile(path.join(folder, jobFiles.out, modelFiles.evaluation), 'utf8');
  return { evaluation: JSON.parse(text) as E, wallSeconds, cpuSeconds: Number(user) + Number(system) };
}
