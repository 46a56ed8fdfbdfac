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
    .description('run a training script on this host, in the same sandbox and with the same arguments as on a runner')
    .requiredOption(
      '--training-script-directory, --path <folder>',
      'folder of the script, with setup.py and model/training.py',
    )
    .requiredOption('--dataset-root <folder>', 'folder that platform dataset export wrote')
    .option('--dataset-file <file>', 'dataset file in this folder', 'dataset.jsonl')
    .option('--model-output-directory, --output <folder>', 'folder for the results', '.')
    .option(
      '--container-version, --container <key>',
      'environment, such as py:3.11; default: the first one of this host',
    )
    .option('--arg <key=value>', 'argument for the script, passed as --key=value (repeatable)', collect)
    .option('--custom-args <a=1,b=2>', 'several arguments at once', collectList)
    .option('--script-python <key=path>', 'add an environment, such as py:3.12=/usr/bin/python3.12')
    .option('--network', 'allow network access, which runners do not allow')
    .option('--pip-index-url <url>', 'package index for the dependencies of the script')
    .option('--wheelhouse <folder>', 'folder with the wheels of the dependencies')
    .option('--memory-mib <n>', 'memory limit in MiB')
    .option('--gpus <n>', 'number of GPUs')
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
