import { showable } from '@platform/contract/text/names';

/** Text that cannot move the cursor, change colours, reverse the text direction or forge lines. */
export const printable = showable;

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1faff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
const none = /\p{Mn}|\p{Me}|\u200c|\u200d/u;

const cells = (character: string): number => {
  if (none.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
};

/** Display width of the text in terminal columns. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += cells(character);
  return width;
}

/** Truncates the text with … if it needs more than `width` columns. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let kept = '';
  let used = 0;
  for (const character of text) {
    used += cells(character);
    if (used > width - 1) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Pads the text to `width` columns. */
export const padded = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - displayWidth(text)));

/** Lines of at most `width` columns, broken between words. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of printable(text).split(/\s+/).filter(Boolean)) {
    const last = lines.at(-1);
    if (last === undefined || displayWidth(last) + 1 + displayWidth(word) > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
