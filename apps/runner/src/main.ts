import { errorText } from '@platform/kit';
import { FolderLocked, onSignals, Usage } from '@platform/kit/node';
import { startAttempt } from './executor/start-attempt.ts';
import { readAttemptOptions, readOptions } from './options.ts';
import { startRunner } from './start.ts';
import { builtInTrainers } from './trainer/command.ts';

const stop = onSignals();
const drain = new AbortController();
// Not SIGUSR1: Node opens its debugger on it.
process.on('SIGUSR2', () => drain.abort());

async function main(): Promise<number> {
  const [first, ...rest] = process.argv.slice(2);
  if (first === 'attempt') return startAttempt(readAttemptOptions(rest, process.env), builtInTrainers, stop);
  await startRunner(readOptions(process.argv.slice(2), process.env), builtInTrainers, stop, drain.signal);
  return 0;
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const isForUser = error instanceof Usage || error instanceof FolderLocked;
    const text = isForUser || !(error instanceof Error) ? errorText(error) : (error.stack ?? error.message);
    process.stderr.write(`${text}\n`);
    process.exit(error instanceof Usage ? error.exitCode : 1);
  },
);
