/**
 * Characters that names must not contain: control, bidirectional, invisible, surrogate and private-use characters. The
 * joiners U+200C and U+200D are part of some scripts and allowed.
 */
const harmful =
  /[\p{Cc}\p{Cs}\p{Co}\u00ad\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;

/** Maximum length of the name of an organization, location, machine, part or key. */
export const longestName = 100;
/** Maximum length of the name of a dataset, tag, label or version. */
export const longestLabel = 128;

/** Why a text is not a valid new name; undefined if it is valid. Names stored under earlier rules stay valid. */
export function nameProblem(text: string, max: number): string | undefined {
  if (text === '') return 'it must not be empty';
  if (text.length > max) return `at most ${max} characters`;
  return text.search(harmful) < 0
    ? undefined
    : 'no control characters, no invisible ones and none that turn the direction of text';
}

/** Replaces each such character, so that the text can be shown safely beside other text in a terminal or a page. */
export const showable = (text: string): string => text.replace(harmful, '\ufffd');

/** Why a text cannot name something that also has an ID: whoever names it by that text could mean either. */
export const idProblem = (text: string): string | undefined =>
  isUuid(text) ? 'it must not have the form of an ID' : undefined;

export const isUuid = (text: string | undefined): text is string =>
  text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
