/** Shown of a line before it is opened. */
const shortCharacters = 400;

// Built from parts: the sequences that terminals act on.
const escape = String.fromCodePoint(0x1b);
const colours = new RegExp(`${escape}\\[[0-9;:]{0,40}[A-Za-z]`, 'g');
/** Controls that do something else than show a character, bidirectional ones included. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;

const escaped = (char: string): string => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`;

/** The text of a program without colours, its other control characters as escapes, so that none changes the page. */
export const safeText = (text: string): string => text.replace(colours, '').replace(controls, escaped);

/** One line of it, cut: the whole text is there when the line is opened. */
export function shortText(text: string): { text: string; isCut: boolean } {
  const start = safeText(text.slice(0, 2 * shortCharacters)).replaceAll(/[\n\t]+/g, ' ↵ ');
  const isCut = start.length > shortCharacters || text.length > 2 * shortCharacters;
  return { text: isCut ? start.slice(0, shortCharacters).toWellFormed() : start, isCut };
}

/** Fractions are rounded to three digits: 0.9731628894805908 is 0.973, 12345.678901 is 12346. */
export const roundedNumbers = (text: string): string =>
  text.replace(/\b\d{1,9}\.\d{4,20}\b/g, (written) => {
    const number = Number(written);
    return number >= 100 ? number.toFixed(0) : String(Number(number.toPrecision(3)));
  });

/** Pieces of a text; each second one is a hit of one of the words, in any case. */
export function markedPieces(text: string, words: readonly string[]): string[] {
  const lower = text.toLowerCase();
  // Some letters change their length in lower case; then no place is exact.
  if (words.length === 0 || lower.length !== text.length) return [text];
  const pieces: string[] = [];
  let from = 0;
  while (from < text.length) {
    const hits = words
      .map((word) => ({ at: lower.indexOf(word.toLowerCase(), from), length: word.length }))
      .filter(({ at }) => at >= 0)
      .toSorted((a, b) => a.at - b.at || b.length - a.length);
    const [hit] = hits;
    if (!hit || hit.length === 0) break;
    pieces.push(text.slice(from, hit.at), text.slice(hit.at, hit.at + hit.length));
    from = hit.at + hit.length;
  }
  return [...pieces, text.slice(from)];
}
