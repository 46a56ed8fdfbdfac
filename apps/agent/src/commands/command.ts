import type { Clock } from '@platform/kit';
import { options, type OptionTable, type OptionValues } from '@platform/kit/node';
import { wrapped } from './words.ts';

/** The world that a command sees. */
export interface Io {
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  /** Results, for people or, with --json, one JSON document. */
  out(text: string): void;
  /** Everything else that people want to know: stderr. */
  note(text: string): void;
  /** Nobody reads the results any more. */
  gone: AbortSignal;
  /** Columns of the terminal; undefined: programs read it. */
  columns: number | undefined;
  /** The person's answer to a question; undefined: nobody is there. */
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
  /** Ends with one of the exit codes. @throws Usage, Ended, PlatformError */
  run(argv: readonly string[], io: Io): Promise<number>;
}

const helpColumns = 80;

/** `load` imports the command's own module, so that the others cost nothing. */
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
