/** The trainer as a process on a job folder, as a runner starts it. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { plainEnvironment } from '@platform/kit/node';
import { jobFiles } from '@platform/contract/job/job';

export interface Ended {
  code: number | null;
  signal: string | null;
  stderr: string;
}
export interface Started {
  child: ChildProcess;
  ended: Promise<Ended>;
}

/** @param main - the trainer's program. */
export function startTrainer(main: URL, folder: string): Started {
  const program = fileURLToPath(main);
  const flags = [
    `--dataset_file=${path.join(folder, jobFiles.dataset)}`,
    `--model_output_directory=${path.join(folder, jobFiles.out)}`,
    `--job_file=${path.join(folder, jobFiles.job)}`,
    `--events_file=${path.join(folder, jobFiles.events)}`,
  ];
  const child = spawn(process.execPath, [program, ...flags], {
    env: plainEnvironment(),
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal, stderr }));
  });
  return { child, ended };
}
