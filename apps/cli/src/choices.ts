import { Argument, Option } from 'commander';
import { choice } from './values.ts';

/** Maps command-line values to their meanings. */
export type Choices<T> = Readonly<Record<string, T>>;

/** The values for help and completion; of several with the same meaning, the first. */
const offered = <T>(of: Choices<T>): string[] => {
  const words = Object.keys(of);
  return words.filter((word) => words.find((other) => of[other] === of[word]) === word);
};

/** An option that parses its value with `of`. @throws PlatformError INVALID_ARGUMENT when it is parsed */
export function choiceOption<T>(flags: string, description: string, of: Choices<T>): Option {
  const option = new Option(flags, description).choices(offered(of));
  return option.argParser((word: string) => choice(`--${option.name()}`, word, of));
}

/** A repeatable `choiceOption`; its value is a list. */
export function choicesOption<T>(flags: string, description: string, of: Choices<T>): Option {
  const option = new Option(flags, description).choices(offered(of));
  return option.argParser<readonly T[] | undefined>((word, before) => [
    ...(before ?? []),
    choice(`--${option.name()}`, word, of),
  ]);
}

/** An argument that parses its value with `of`. @throws PlatformError INVALID_ARGUMENT when it is parsed */
export function choiceArgument<T>(name: string, description: string, of: Choices<T>): Argument {
  const argument = new Argument(name, description).choices(offered(of));
  return argument.argParser((word: string) => choice(argument.name(), word, of));
}
