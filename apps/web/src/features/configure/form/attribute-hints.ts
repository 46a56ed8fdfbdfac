import type { CheckedEntry } from '../schema/checked-entries.ts';
import type { ConfigProblem } from '../config-problems.ts';
import { formatPath } from '../schema/json-path.ts';
import type { CheckAnswer } from '../schema/schema-checker.ts';

/** What a check says, as problems beside those of the server. None prevents a save. */
export function hintsOf({ path }: Pick<CheckedEntry, 'path'>, answer: CheckAnswer): ConfigProblem[] {
  if ('unchecked' in answer)
    return [
      {
        where: formatPath(path),
        path: path.slice(0, 2),
        message: `Not checked in the page: ${answer.unchecked}.`,
        remedy: 'The server decides on save.',
        tone: 'busy',
      },
    ];
  return answer.problems.map((problem) => {
    const whole = [...path, ...problem.path];
    return {
      where: formatPath(whole),
      path: whole,
      message: problem.message,
      remedy: 'The server of this machine will not take it.',
      tone: 'warn',
    };
  });
}
