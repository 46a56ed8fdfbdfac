import { PlatformError } from '@platform/contract/errors/errors';
import { idProblem, longestName, nameProblem } from '@platform/contract/text/names';

/** Trims and validates a new name. @throws PlatformError INVALID_ARGUMENT */
export function requiredName(field: string, value: string): string {
  const name = value.trim();
  const problem = nameProblem(name, longestName) ?? idProblem(name);
  if (problem !== undefined) {
    const limit = `a text of 1 to ${longestName} characters on one line: ${problem}`;
    throw new PlatformError('INVALID_ARGUMENT', { field, value: JSON.stringify(value.slice(0, 40)), limit });
  }
  return name;
}
