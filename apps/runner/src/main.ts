import { errorText } from '@platform/kit';
import { FolderLocked, onSignals, Usage } from '@platform/kit/node';
import { readOptions } from './options.ts';
import { startRunner } from './start.ts';
import { builtInTrainers } from './trainer/command.ts';

const stop = onSignals();

async function main(): Promise<void> {
  await startRunner(readOptions(process.argv.slice(2), process.env), builtInTrainers, stop);
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    const isForPeople = error instanceof Usage || error instanceof FolderLocked;
    const text = isForPeople || !(error instanceof Error) ? errorText(error) : (error.stack ?? error.message);
    process.stderr.write(`${text}\n`);
    process.exit(error instanceof Usage ? error.exitCode : 1);
  },
);
