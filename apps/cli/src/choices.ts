import { Argument, Option } from 'commander';
import { choice } from './values.ts';

/** What the words on the command line stand for. */
export type Choices<T> = Readonly<Record<string, T>>;

/** The words that help and completion show; of several with the same meaning the first. */
const offered = <T>(of: Choices<T>): string[] => {
  const words = Object.keys(of);
  return words.filter((word) => words.find((other) => of[other] === of[word]) === word);
};

/** An option with the meaning of its word as value. @throws PlatformError INVALID_ARGUMENT, when it is parsed */
export function choiceOption<T>(flags: string, description: string, of: Choices<T>): Option {
  const option = new Option(flags, description).choices(offered(of));
  return option.argParser((word: string) => choice(`--${option.name()}`, word, of));
}

/** As `choiceOption`, for one that may be given again and again; its value is a list. */
export function choicesOption<T>(flags: string, description: string, of: Choices<T>): Option {
  const option = new Option(flags, description).choices(offered(of));
  return option.argParser<readonly T[] | undefined>((word, before) => [
    ...(before ?? []),
    choice(`--${option.name()}`, word, of),
  ]);
}

/** An argument with the meaning of its word as value. @throws PlatformError INVALID_ARGUMENT, when it is parsed */
export function choiceArgument<T>(name: string, description: string, of: Choices<T>): Argument {
  const argument = new Argument(name, description).choices(offered(of));
  return argument.argParser((word: string) => choice(argument.name(), word, of));
}
