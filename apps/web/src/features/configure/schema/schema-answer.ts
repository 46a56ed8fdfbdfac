import { checkAttributes } from './schema-check.ts';
import type { CheckAnswer, CheckJob } from './schema-checker.ts';

/** What a worker answers: also for a schema that the interpreter cannot evaluate. */
export function answerCheck({ schema, value }: Pick<CheckJob, 'schema' | 'value'>): CheckAnswer {
  try {
    return { problems: checkAttributes(schema, value) };
  } catch (error) {
    const reason = error instanceof RangeError ? 'its references never end' : String(error).slice(0, 200);
    return { unchecked: `its schema cannot be evaluated: ${reason}` };
  }
}
