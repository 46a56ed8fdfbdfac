// What became of the changes of this agent, for the status and the log.
import type { RestoredFile } from './managed-files.ts';

/** Empty: there are no names. */
export const namesClause = (what: string, names: readonly string[]): string[] =>
  names.length === 0 ? [] : [`${what}: ${names.join(', ')}`];

export function outcomeClauses(files: readonly RestoredFile[]): string[] {
  const named = (isRestored: boolean): string[] =>
    files.flatMap((one) => (one.isRestored === isRestored ? one.file : []));
  return [...namesClause('restored', named(true)), ...namesClause('changed by others and left', named(false))];
}
