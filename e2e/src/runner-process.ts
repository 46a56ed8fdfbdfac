import path from 'node:path';
import { plainEnvironment, spawnGroup } from '@platform/kit/node';
import type { CloudReady } from './cloud-process.ts';
import { checkout, dataFolder } from './up-process.ts';

const program = path.join(checkout, 'apps', 'runner', 'src', 'main.ts');

/** Starts a runner of the server's organization with its own folder; disposing stops it and removes the folder. */
export async function startRunner(
  ready: Pick<CloudReady, 'url' | 'runner_key_id' | 'runner_key'>,
  ...args: string[]
): Promise<AsyncDisposable> {
  const folder = await dataFolder();
  const group = await spawnGroup({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', program, '--folder', folder.path, ...args],
    env: plainEnvironment({
      PLATFORM_URL: ready.url,
      PLATFORM_RUNNER_TOKEN: `${ready.runner_key_id}:${ready.runner_key}`,
    }),
    cwd: checkout,
    logFile: folder.file('runner.log'),
  });
  return {
    async [Symbol.asyncDispose]() {
      await group.stop({ termMs: 20_000 });
      await folder[Symbol.asyncDispose]();
    },
  };
}
