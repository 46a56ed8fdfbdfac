import { CommanderError } from 'commander';
import { errorText } from '@platform/kit';
import { Usage } from '@platform/kit/node';
import { problemsOf } from './commands/config-problems.ts';
import { completionNames } from './completion.ts';
import { type Complaint, complaintOf, Ended, exitCodeOf, exitCodes } from './exit-codes.ts';
import { createProgram } from './program.ts';
import { printable } from './output.ts';
import { isStopped } from './world.ts';

/** Whether a program reads the output. Read before parsing, because the command line itself may be invalid. */
const isJson = process.argv.includes('--json');

function complain(error: unknown): void {
  if (error instanceof CommanderError || error instanceof Usage) {
    const isRefused = error.exitCode !== 0;
    if (isRefused && isJson) {
      const what = error.message.replace(/^error: /, '');
      const remedy = 'See the same command line with --help.';
      return void process.stderr.write(`${JSON.stringify({ error: { code: 'USAGE', what, remedy } })}\n`);
    }
    if (error instanceof CommanderError) return; // commander has already printed its message
    return void (isRefused ? process.stderr : process.stdout).write(`${error.message}\n`);
  }
  const complaint = complaintOf(error);
  const problems = problemsOf(error);
  if (isJson) {
    const { code, what, remedy, requestId }: Complaint = complaint ?? { code: '', what: errorText(error), remedy: '' };
    const document = {
      error: { code, what, remedy, ...(problems.length > 0 && { problems }), request_id: requestId },
    };
    return void process.stderr.write(`${JSON.stringify(document)}\n`);
  }
  const lines = complaint
    ? [`${complaint.code}: ${complaint.what}`, ...problems.map((line) => `  ${line}`), complaint.remedy]
    : [error instanceof Ended ? error.message : errorText(error)];
  const text = lines.filter(Boolean).join('\n').split('\n').map(printable).join('\n');
  process.stderr.write(`${text}\n`);
}

// A reader that closes the pipe early, such as head, ends the program silently. A reader of stderr that is gone misses
// the messages, but the exit code still reports the failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
process.stderr.on('error', () => {});
try {
  await createProgram(completionNames, { isJson }).parseAsync();
  if (isStopped()) process.exitCode = exitCodes.stopped;
} catch (error) {
  if (!isStopped() || error instanceof Ended) complain(error);
  process.exitCode = isStopped() ? exitCodes.stopped : exitCodeOf(error);
  // Work that ignores the signal would otherwise continue.
  if (isStopped()) process.exit();
}
