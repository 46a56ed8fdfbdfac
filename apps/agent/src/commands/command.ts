import type { Clock } from '@platform/kit';
import { options, type OptionTable, type OptionValues } from '@platform/kit/node';
import { wrapped } from './terminal-text.ts';

/** Environment, input and output of a command. */
export interface Io {
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  /** Results, for users or, with --json, one JSON document. */
  out(text: string): void;
  /** All other messages for users: stderr. */
  note(text: string): void;
  /** Aborts when no reader of the results is left. */
  gone: AbortSignal;
  /** Columns of the terminal; undefined: the output is not a terminal. */
  columns: number | undefined;
  /** The user's answer to a question; undefined: no user is present. */
  ask(question: string): Promise<string | undefined>;
}

export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** Whole sentences for the help of the command. */
  about: string;
  table: OptionTable;
  isHidden: boolean;
  /** Returns one of the exit codes. @throws Usage, Ended, PlatformError */
  run(argv: readonly string[], io: Io): Promise<number>;
}

const helpColumns = 80;

/** `load` imports the module of this command only, so that the other modules are not loaded. */
export function command<const T extends OptionTable>(of: {
  name: string;
  summary: string;
  about: string;
  table: T;
  isHidden?: boolean;
  load: () => Promise<(given: OptionValues<T>, io: Io) => Promise<number>>;
}): Command {
  const { name, summary, about, table, load, isHidden = false } = of;
  return {
    name,
    summary,
    about,
    table,
    isHidden,
    async run(argv, io) {
      const given = options(table, {
        program: `platform-agent ${name}`,
        about: wrapped(about, helpColumns).join('\n'),
        argv,
        env: io.env,
        envPrefix: 'PLATFORM_AGENT',
      });
      return (await load())(given, io);
    },
  };
}
