import { Command, CommanderError } from 'commander';
import { PlatformApiError } from '@platform/client';
import { PlatformError } from '@platform/contract/errors';
import { errorText } from '@platform/kit';
import { onSignals, Usage } from '@platform/kit/node';
import { configCommands, problemsOf } from './commands/config.ts';
import { keyCommands } from './commands/key.ts';
import { logCommands } from './commands/logs.ts';
import { machineCommands } from './commands/machine.ts';
import { connect, type ConnectionFlags } from './connection.ts';
import { createOutput } from './output.ts';
import type { CommandWorld, Run } from './run.ts';
import { upOptions } from './up/options.ts';
import { up, version } from './up/up.ts';

/** 0 done; 1 it failed; 2 the command line can't be understood; 3 not signed in or not allowed; 4 not found; 130 stopped. */
function exitCodeOf(error: unknown): number {
  if (error instanceof Usage) return error.exitCode;
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (!(error instanceof PlatformError || error instanceof PlatformApiError)) return 1;
  if (/AUTHENTICATED|CREDENTIALS|PERMISSION|NOT_OWNER|TOKEN/.test(error.code)) return 3;
  return error.code.endsWith('NOT_FOUND') ? 4 : 1;
}

function complain(error: unknown): void {
  if (error instanceof CommanderError) return; // it has printed its own words
  if (error instanceof Usage)
    return void (error.exitCode === 0 ? process.stdout : process.stderr).write(`${error.message}\n`);
  if (error instanceof PlatformError || error instanceof PlatformApiError) {
    const lines = [`${error.code}: ${error.what}`, ...problemsOf(error).map((line) => `  ${line}`), error.remedy];
    return void process.stderr.write(`${lines.filter(Boolean).join('\n')}\n`);
  }
  process.stderr.write(`${errorText(error)}\n`);
}

const program = new Command('platform')
  .description('Machines, training and models of a Platform.')
  .version(version)
  .exitOverride();
program
  .option('--url <url>', 'management server (PLATFORM_URL)')
  .option('--api-key-id <id>', 'API key ID (PLATFORM_API_KEY_ID)')
  .option('--api-key <key>', 'API key (PLATFORM_API_KEY)')
  .option('--org <id or name>', 'organization, when the key belongs to several')
  .option('--json', 'one JSON document on stdout');

const run: Run =
  <A extends unknown[]>(action: (world: CommandWorld, ...args: A) => Promise<unknown>) =>
  async (...args: unknown[]) => {
    const command = args.at(-1) as Command;
    const flags = command.optsWithGlobals<ConnectionFlags>();
    const opened = { connection: undefined as ReturnType<typeof connect> | undefined };
    const world = {
      connection: () => (opened.connection ??= connect(flags)),
      output: createOutput(flags.json === true, process.stdout),
      signal: onSignals(),
    };
    await action(world, ...(args.slice(0, -1) as A));
  };
machineCommands(program, run);
configCommands(program, run);
logCommands(program, run);
keyCommands(program, run);
program
  .command('up')
  .description('start management server, demo machine and runner here, and show them working (npm start)')
  .helpOption(false)
  .allowUnknownOption()
  .allowExcessArguments()
  .action(async () => {
    process.exitCode = await up(upOptions(process.argv.slice(process.argv.indexOf('up') + 1), process.env));
  });
for (const command of program.commands)
  for (const one of [command, ...command.commands])
    if (one.name() !== 'up') one.option('--json', 'one JSON document on stdout');

try {
  await program.parseAsync();
} catch (error) {
  complain(error);
  process.exitCode = exitCodeOf(error);
}
