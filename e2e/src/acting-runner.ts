// Runners as processes, each with its own folder, and a trainer that acts by the model's name
// (apps/runner/test/acting-trainer.mjs).
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { plainEnvironment, type ProcessGroup, spawnGroup } from '@platform/kit/node';
import type { CloudReady } from './cloud-process.ts';
import { onSmallDisk, plain } from './small-disk.ts';
import { checkout } from './up-process.ts';

const program = path.join(checkout, 'apps', 'runner', 'test', 'acting-runner.ts');

export interface RunnerProcess extends AsyncDisposable {
  readonly group: ProcessGroup;
  /** The path on the runner's host; with `diskMib`, the path inside the namespace. */
  readonly folder: string;
  /** Lets jobs named wait-… finish. */
  go(): void;
}

/** `diskMib`: the folder is on a disk of that size, which only the runner sees. */
export async function startRunnerProcess(
  { url, runner_key_id, runner_key }: CloudReady,
  folder: string,
  { args = [], diskMib }: { args?: readonly string[]; diskMib?: number } = {},
): Promise<RunnerProcess> {
  mkdirSync(folder, { recursive: true });
  const run = [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    program,
    '--folder',
    path.join(folder, 'runner'),
    ...args,
  ];
  const group = await spawnGroup({
    ...(diskMib === undefined ? plain(run) : onSmallDisk(folder, diskMib, run)),
    env: plainEnvironment({ PLATFORM_URL: url, PLATFORM_RUNNER_TOKEN: `${runner_key_id}:${runner_key}` }),
    cwd: checkout,
  });
  group.stdout?.resume();
  group.stderr?.resume();
  const seen = diskMib === undefined ? folder : `/proc/${group.pid}/root${folder}`;
  return {
    group,
    folder: seen,
    go() {
      mkdirSync(path.join(seen, 'runner'), { recursive: true });
      writeFileSync(path.join(seen, 'runner', 'go'), '');
    },
    async [Symbol.asyncDispose]() {
      group.signal('SIGCONT');
      await group.stop({ termMs: 15_000 });
    },
  };
}
