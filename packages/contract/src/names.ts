/**
 * Characters that no name holds: controls, marks that turn the direction of the text around them, characters that nobody sees, halves of
 * characters and private ones. The joiners U+200C and U+200D are letters' business and stay.
 */
const harmful =
  /[\p{Cc}\p{Cs}\p{Co}\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

/** Longest name of an organization, a location, a machine, a part or a key. */
export const longestName = 100;
/** Longest name of a dataset, a tag, a label or a version. */
export const longestLabel = 128;

/** Why a text cannot be a new name; undefined: it can. What was stored under earlier rules goes on to work. */
export function nameProblem(text: string, max: number): string | undefined {
  if (text === '') return 'it must not be empty';
  if (text.length > max) return `at most ${max} characters`;
  return text.search(harmful) < 0
    ? undefined
    : 'no control characters, no invisible ones and none that turn the direction of text';
}

/** The text with a mark in place of each such character, so that it can be shown beside other text, in a terminal or a page. */
export const showable = (text: string): string => text.replace(harmful, '\ufffd');

export const isUuid = (text: string | undefined): text is string =>
  text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
