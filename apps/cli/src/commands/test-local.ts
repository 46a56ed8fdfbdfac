import { homedir } from 'node:os';
import path from 'node:path';
import { systemClock } from '@platform/kit/node';
import { LocalFailure, runTestLocal } from '@platform/sandbox/test-local';
import type { Command } from 'commander';
import { Ended, exitCodes } from '../exit-codes.ts';
import { counted, printable } from '../output.ts';
import type { CommandWorld, Run } from '../run.ts';
import { collect, collectList, keyValues, wholeNumber } from '../values.ts';

interface LocalFlags {
  readonly path: string;
  readonly datasetRoot: string;
  readonly datasetFile: string;
  readonly output: string;
  readonly container?: string;
  readonly arg?: string[];
  readonly customArgs?: string[];
  readonly scriptPython?: string;
  readonly network?: boolean;
  readonly pipIndexUrl?: string;
  readonly wheelhouse?: string;
  readonly memoryMib?: string;
  readonly gpus?: string;
}

export function testLocalCommand(script: Command, run: Run): void {
  script
    .command('test-local')
    .description('run a script on this host, in the same sandbox and with the same call as on a runner')
    .requiredOption('--training-script-directory, --path <folder>', 'the script: setup.py and model/training.py')
    .requiredOption('--dataset-root <folder>', 'what dataset export has written')
    .option('--dataset-file <file>', 'in the dataset root', 'dataset.jsonl')
    .option('--model-output-directory, --output <folder>', 'where the result goes', '.')
    .option('--container-version, --container <key>', 'environment, such as py:3.11; default: the first one')
    .option('--arg <key=value>', 'passed to the script as --key=value; again for more', collect)
    .option('--custom-args <a=1,b=2>', 'several of them at once', collectList)
    .option('--script-python <key=path>', 'an environment of its own, such as py:3.12=/usr/bin/python3.12')
    .option('--network', 'with network, which a runner does not give')
    .option('--pip-index-url <url>', 'where packages that the script needs come from')
    .option('--wheelhouse <folder>', 'or a folder with their wheels')
    .option('--memory-mib <n>', 'memory that it may use')
    .option('--gpus <n>', 'GPUs that it may use')
    .action(run(testLocal));
}

async function testLocal({ output, signal }: CommandWorld, flags: LocalFlags): Promise<void> {
  const sources = {
    ...(flags.pipIndexUrl !== undefined && { pipIndexUrl: flags.pipIndexUrl }),
    ...(flags.wheelhouse !== undefined && { wheelhouse: path.resolve(flags.wheelhouse) }),
  };
  const out = path.resolve(flags.output);
  const cacheRoot = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache');
  try {
    const result = await runTestLocal({
      folder: flags.path,
      datasetRoot: flags.datasetRoot,
      datasetFile: flags.datasetFile,
      args: keyValues('--arg', [...(flags.customArgs ?? []), ...(flags.arg ?? [])]),
      out,
      network: flags.network === true,
      sources,
      ...(flags.container !== undefined && { container: flags.container }),
      ...(flags.scriptPython !== undefined && { pythons: flags.scriptPython }),
      ...(flags.memoryMib !== undefined && { memoryMib: wholeNumber('--memory-mib', flags.memoryMib, { min: 16 }) }),
      ...(flags.gpus !== undefined && { gpus: wholeNumber('--gpus', flags.gpus, { max: 16 }) }),
      cache: path.join(cacheRoot, 'platform', 'scripts'),
      env: process.env,
      clock: systemClock,
      signal,
      onLine(stream, line) {
        // The script's output is part of this command's result, as it is part of a job's log.
        if (stream === 'out') output.text(printable(line));
        else output.note(printable(line));
      },
    });
    if (result.stopped) throw new Ended(exitCodes.stopped, 'The script was stopped.');
    output.json({ container: result.container, folder: out, files: result.files });
    output.text(`\nThe script has made ${counted(result.files.length, 'file')} in ${out} with ${result.container}:`);
    for (const file of result.files) output.text(`  ${printable(file)}`);
  } catch (error) {
    if (!(error instanceof LocalFailure)) throw error;
    throw new Ended(exitCodes.jobFailed, `${error.code}: ${error.message}`);
  }
}
