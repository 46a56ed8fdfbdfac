import { showable } from '@platform/contract/names';

/** Letters written from right to left, and what `showable` takes out. */
const turnsText = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/**
 * What somebody called a thing, within a sentence of ours that can only be plain text: titles, labels for screen readers, texts for
 * images. Its direction ends with it. Elsewhere: UserText.
 */
export function isolateText(text: string): string {
  const shown = showable(text);
  return turnsText.test(shown) ? `\u2068${shown}\u2069` : shown;
}
