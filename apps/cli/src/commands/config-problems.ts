import { ConnectError } from '@connectrpc/connect';
import {
  ConfigProblemsSchema,
  type Problem,
  type SaveConfigResponse,
  Severity,
  SeveritySchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { Ended, exitCodes } from '../exit-codes.ts';
import { counted, enumWord, type Output, printable } from '../output.ts';

export const problemJson = (one: Problem): Record<string, string> => ({
  path: one.path,
  severity: enumWord(SeveritySchema, one.severity),
  message: one.message,
  remedy: one.remedy,
});
export const problemText = (one: Problem): string =>
  printable(`${enumWord(SeveritySchema, one.severity)} ${one.path}: ${one.message} ${one.remedy}`);

/** The problems of a rejected configuration, each with its path. */
export function problemsOf(error: unknown): string[] {
  if (!(error instanceof Error) || !(error.cause instanceof ConnectError)) return [];
  return error.cause.findDetails(ConfigProblemsSchema).flatMap((detail) => detail.problems.map(problemText));
}

/**
 * Prints the result of a save.
 *
 * @throws Ended with its own exit code when the configuration is saved but a part of it cannot work.
 */
export function reportSaved(
  output: Output,
  saved: Pick<SaveConfigResponse, 'revision' | 'problems'>,
  words: string,
): void {
  output.json({ revision: Number(saved.revision), problems: saved.problems.map(problemJson) });
  output.text(words);
  for (const problem of saved.problems) output.text(problemText(problem));
  endOnWarnings(saved.problems);
}

function endOnWarnings(problems: readonly Problem[]): void {
  const warnings = problems.filter(({ severity }) => severity >= Severity.WARNING);
  if (warnings.length > 0) {
    throw new Ended(exitCodes.savedWithWarnings, `Saved with ${counted(warnings.length, 'warning')}: see above.`);
  }
}
