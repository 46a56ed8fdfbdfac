import { applyTestFault } from '@platform/kit/test-fault';

// Entry of the one-file program. Nothing of the program is loaded before its crashes are taken care of: the runtime's own
// report would print its whole minified source into the journal.
const crash = (error: unknown): never => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(70);
};
process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);

// A version that fails still says what it is, and by which unit it would be started.
if (!['--version', 'version', 'unit'].includes(process.argv[2] ?? '')) await applyTestFault();
await import('./main.ts');
