import { PlatformError } from '@platform/contract/errors';
import { parseFilters } from '@platform/contract/machine-filter';

/** The comparisons of a text, separated by commas outside of quotation marks. */
const comparisonsOf = (text: string): string[] =>
  (text.match(/(?:"[^"]*"|[^,"]|")+/g) ?? []).map((one) => one.trim()).filter((one) => one !== '');

/** What a user typed into the filter of the machine list; `problem`: why it is not used. */
export function typedFilters(text: string): { filters: string[]; problem: string | undefined } {
  const filters = comparisonsOf(text);
  try {
    parseFilters(filters);
    return { filters, problem: undefined };
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error;
    return { filters: [], problem: `${error.what} ${error.remedy}` };
  }
}
