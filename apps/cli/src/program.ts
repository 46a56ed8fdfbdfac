import { Command, CommanderError, Option } from 'commander';
import { addCompletion, type NamesOf } from './completion.ts';
import { adminCommands } from './commands/admin.ts';
import { auditCommands } from './commands/audit.ts';
import { conditionCommands } from './commands/conditions.ts';
import { configCommands } from './commands/config.ts';
import { datasetCommands } from './commands/dataset.ts';
import { fragmentCommands } from './commands/fragment.ts';
import { keyCommands } from './commands/key.ts';
import { logCommands } from './commands/logs.ts';
import { machineCommands } from './commands/machine.ts';
import { modelCommands } from './commands/model.ts';
import { releaseCommands } from './commands/release.ts';
import { runnerCommands } from './commands/runner.ts';
import { trainCommands } from './commands/train.ts';
import { trainingScriptCommands } from './commands/training-script.ts';
import { usageCommand } from './commands/usage.ts';
import { exitCodesHelp } from './exit-codes.ts';
import { upOptions } from './up/options.ts';
import { version } from './version.ts';
import { run } from './world.ts';

const globalOptions = [
  ['--url <url>', 'URL of the management server (PLATFORM_URL)'],
  ['--api-key-id <id>', 'API key ID (PLATFORM_API_KEY_ID)'],
  ['--api-key <key>', 'API key (PLATFORM_API_KEY)'],
  ['--org <id or name>', 'organization; needed if the key belongs to several'],
  ['--json', 'print one JSON document on stdout'],
] as const;

/** The command and all its subcommands. */
const tree = (command: Command): Command[] => [command, ...command.commands.flatMap(tree)];

const fullName = (command: Command): string => (command.parent ? `${fullName(command.parent)} ` : '') + command.name();

/** Makes a command group list its subcommands if none is given. */
function tellCommandsOf(group: Command): void {
  group.exitOverride((error) => {
    const isMissing = error.code === 'commander.help';
    if (!isMissing && error.code !== 'commander.unknownCommand') throw error;
    const what = isMissing ? `A command is missing after "${fullName(group)}"` : error.message.replaceAll('\n', ' ');
    const names = group.commands.map((one) => one.name()).filter((name) => name !== 'complete');
    throw new CommanderError(error.exitCode, error.code, `${what}; there are: ${names.join(', ')}.`);
  });
}

/**
 * Builds the whole command line; `namesOf` provides names for shell completion. With `isJson` it prints no parse
 * errors: the caller reports them.
 */
export function createProgram(namesOf: NamesOf, { isJson = false }: { isJson?: boolean } = {}): Command {
  const program = new Command('platform')
    .configureOutput({ writeErr: (text) => void (isJson || process.stderr.write(text)) })
    .description('Machines, training and models of a Platform.')
    .version(version)
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .addHelpText('after', '\nSee also: platform help exit-codes')
    .exitOverride();
  trainCommands(program, run);
  datasetCommands(program, run);
  trainingScriptCommands(program, run);
  modelCommands(program, run);
  runnerCommands(program, run);
  machineCommands(program, run);
  configCommands(program, run);
  fragmentCommands(program, run);
  logCommands(program, run);
  keyCommands(program, run);
  conditionCommands(program, run);
  auditCommands(program, run);
  usageCommand(program, run);
  releaseCommands(program, run);
  adminCommands(program, run);
  const upCommand = program
    .command('up')
    .description('start a management server, a demo machine and a runner on this host (npm start)')
    .helpOption(false)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(async () => {
      // Imported here: it loads the whole demo, which other commands do not need.
      const { up } = await import('./up/up.ts');
      process.exitCode = await up(upOptions(process.argv.slice(process.argv.indexOf('up') + 1), process.env));
    });
  for (const command of program.commands.flatMap(tree)) {
    if (command === upCommand) continue;
    const isGroup = command.commands.length > 0;
    for (const [flags, words] of globalOptions) {
      const option = new Option(flags, words);
      command.addOption(flags === '--json' && !isGroup ? option : option.hideHelp());
    }
    if (isGroup) tellCommandsOf(command);
  }
  tellCommandsOf(program);
  for (const [flags, words] of globalOptions) program.option(flags, words);
  program
    .command('help [command...]')
    .description('show help for a command, or for exit-codes')
    .action((names: string[]) => {
      if (names[0] === 'exit-codes') return void process.stdout.write(`${exitCodesHelp}\n`);
      const found = names.reduce<Command | undefined>(
        (at, name) => at?.commands.find((one) => one.name() === name),
        program,
      );
      (found ?? program).outputHelp();
    });
  addCompletion(program, namesOf);
  return program;
}
