import { showable } from '@platform/contract/text/names';

/** Right-to-left letters, and the characters that `showable` removes. */
const turnsText = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * Isolates a name that a user chose inside our plain text: titles, labels for screen readers, image descriptions. Its
 * direction ends with it. Elsewhere: UserText.
 */
export function isolateText(text: string): string {
  const shown = showable(text);
  return turnsText.test(shown) ? `\u2068${shown}\u2069` : shown;
}
