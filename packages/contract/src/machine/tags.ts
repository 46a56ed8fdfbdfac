// Tags of machines: words that users give them, by which they find and choose them.

const longestTag = 64;
/** Tags of one machine. */
export const mostTags = 32;

const characters = /^[\p{L}\p{M}\p{N}._:/-]+$/u;
const rule = 'letters, digits and . _ : / -';

/** One form for what users write in several: "Barn" and "barn" are one tag. */
const folded = (text: string): string => text.trim().normalize('NFKC').toLowerCase();

/** A tag as it is stored, or why a text is none, to follow after "…: ". */
export function readTag(text: string): { tag: string } | { problem: string } {
  const tag = folded(text);
  if (tag === '') return { problem: 'it must not be empty' };
  if (tag.length > longestTag) return { problem: `at most ${longestTag} characters` };
  if (!characters.test(tag)) return { problem: `only ${rule}` };
  return /^[\p{L}\p{N}]/u.test(tag) ? { tag } : { problem: 'it must begin with a letter or a digit' };
}

/** A tag or a part of one, for comparisons; undefined: no tag contains it. */
export function normalizeTagText(text: string): string | undefined {
  const part = folded(text);
  return part.length <= longestTag && characters.test(part) ? part : undefined;
}

/** The tags after a change, by their letters. */
export const changedTags = (tags: readonly string[], add: readonly string[], remove: readonly string[]): string[] =>
  [...new Set([...tags, ...add])].filter((tag) => !remove.includes(tag)).toSorted();
