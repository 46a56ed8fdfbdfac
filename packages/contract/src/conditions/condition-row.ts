import type { ErrorRow } from '../errors/error-row.ts';
import type { Severity } from './severity.ts';

export interface ConditionRow {
  /** If there are several, the code that sets the condition chooses one; the first is the default. */
  readonly severity: Severity | readonly [Severity, ...Severity[]];
  /** What happened. `{name}` is replaced from the condition's data; `[…]` is omitted if its data is missing. */
  readonly message: string;
  /** Why, as whole sentences: when the condition is set. */
  readonly cause: string;
  /** What to do, as whole sentences. */
  readonly remedy: string;
  /** When the condition ends, as whole sentences. */
  readonly ends: string;
}

/** The texts of an error that is also reported as a condition. */
export const textsOf = <E extends ErrorRow>({ message, remedy }: E): Pick<E, 'message' | 'remedy'> => ({
  message,
  remedy,
});
