import { createInterface } from 'node:readline/promises';
import type { ControlFailure } from '@platform/contract/machine/agent-status';
import { errorText } from '@platform/kit';
import { systemClock, Usage } from '@platform/kit/node';
import type { Command, Io } from './commands/command.ts';
import { Ended, endedByMachine, exitCodes, exitMeanings } from './commands/exit-codes.ts';
import { commands } from './commands/table.ts';
import { isOtherStart } from './commands/take-over-options.ts';

/**
 * Runs the command that the arguments name; `run` if the first one is an option. Returns the exit code and never
 * throws.
 */
export async function commandLine(argv: readonly string[], env: Io['env']): Promise<number> {
  const stdout = writerTo(process.stdout);
  const stderr = writerTo(process.stderr);
  const io = processIo(env, stdout, stderr);
  try {
    return await choose(argv, io);
  } catch (error) {
    // A process that runs for years logs the full error with its stack to the journal.
    const known = isLasting(argv) ? error : (endedByMachine(error) ?? error);
    return complain(known, argv.includes('--json'), io);
  } finally {
    await Promise.all([stdout.flushed(), stderr.flushed()]);
  }
}

const isLasting = ([name = '']: readonly string[]): boolean =>
  name === '' || name.startsWith('-') || ['run', 'supervise', 'service'].includes(name);

interface Writer {
  write(text: string): void;
  /** Aborts when the reader has closed the stream. */
  gone: AbortSignal;
  /**
   * Resolves when the last text is written. A pipe blocks when its buffer is full; exiting would truncate the output.
   */
  flushed(): Promise<unknown>;
}

function writerTo(stream: NodeJS.WriteStream): Writer {
  // A reader that closes the pipe, such as head, or a stopped journal does not fail the command.
  const gone = new AbortController();
  stream.on('error', (error) => gone.abort(error));
  let last: Promise<unknown> = Promise.resolve();
  return {
    write(text) {
      last = new Promise((resolve) => stream.write(`${text}\n`, resolve));
    },
    gone: gone.signal,
    flushed: () => last,
  };
}

async function choose(argv: readonly string[], io: Io): Promise<number> {
  const [first = '', ...rest] = argv;
  const named = (name: string): Command => {
    const found = commands.find((command) => command.name === name);
    if (!found) throw new Usage(`Unknown command ${name}. See platform-agent help.`, 2);
    return found;
  };
  if (first === 'help' || first === '--help' || first === '-h') {
    const [name] = rest;
    if (name === '--markdown') io.out((await import('./commands/markdown.ts')).commandsMarkdown(commands));
    else if (name !== undefined) return named(name).run(['--help'], io);
    else io.out(helpText());
    return exitCodes.done;
  }
  if (first === '--version' || first === '-v') return named('version').run([], io);
  if (isOtherStart(argv)) return named('take-over').run(argv, io);
  if (first !== '' && !first.startsWith('-')) return named(first).run(rest, io);
  try {
    return await named('run').run(argv, io);
  } catch (error) {
    if (!(error instanceof Usage) || !error.message.startsWith('Unexpected word')) throw error;
    throw new Usage(`${error.message} A command comes first: platform-agent COMMAND [options].`, 2);
  }
}

function helpText(): string {
  const shown = commands.filter(({ isHidden }) => !isHidden);
  const width = Math.max(...shown.map(({ name }) => name.length)) + 2;
  return [
    'Keeps the machine server of one machine installed, running and up to date.',
    '',
    'Usage: platform-agent [command] [options]',
    '',
    ...shown.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`),
    '',
    'platform-agent help COMMAND shows its options.',
    '',
    'Exit codes',
    ...Object.entries(exitCodes).map(
      ([name, code]) => `  ${String(code).padStart(2)}  ${exitMeanings[name as keyof typeof exitCodes]}`,
    ),
  ].join('\n');
}

const forUsers = new Set([
  'Usage',
  'Ended',
  'PlatformError',
  'ControlRefusal',
  'NotForYou',
  'AgentSilent',
  'FolderLocked',
]);

/** Writes the error to stderr, as JSON with --json. Returns the exit code. */
function complain(error: unknown, isJson: boolean, io: Io): number {
  if (error instanceof Usage && error.exitCode === 0) {
    io.out(error.message);
    return exitCodes.done;
  }
  const { name, message, code, what: ownText, remedy, exitCode, stack } = error as Partial<Ended> & { what?: string };
  const isExpected = forUsers.has(name ?? '');
  const what = isExpected ? (ownText ?? message ?? '') : errorText(error);
  if (isJson) {
    const known = code ?? (error instanceof Usage ? 'USAGE' : '');
    io.note(JSON.stringify({ error: { code: known, what, remedy: remedy ?? '' } } satisfies ControlFailure));
  } else io.note(isExpected ? [what, remedy].filter(Boolean).join(' ') : (stack ?? what));
  if (name === 'FolderLocked') return exitCodes.notRunning;
  return exitCode ?? (isExpected ? exitCodes.failed : exitCodes.broken);
}

function processIo(env: Io['env'], stdout: Writer, stderr: Writer): Io {
  return {
    env,
    clock: systemClock,
    out: (text) => stdout.write(text),
    note: (text) => stderr.write(text),
    gone: stdout.gone,
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    async ask(question) {
      if (!process.stdin.isTTY) return undefined;
      const reader = createInterface({ input: process.stdin, output: process.stderr });
      try {
        return await reader.question(question);
      } finally {
        reader.close();
      }
    },
  };
}
