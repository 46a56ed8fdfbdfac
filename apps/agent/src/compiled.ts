import { applyTestFault } from '@platform/kit/test-fault';

// Entry of the one-file program. The crash handlers are installed before the program is loaded: the runtime's own
// report would print the whole minified source into the journal.
const crash = (error: unknown): never => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(70);
};
process.on('uncaughtException', crash);
process.on('unhandledRejection', crash);

// A version that fails by a test fault still answers with its version and its unit.
if (!['--version', 'version', 'unit'].includes(process.argv[2] ?? '')) await applyTestFault();
await import('./main.ts');
