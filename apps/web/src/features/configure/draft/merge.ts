import { diff3MergeRegions } from 'node-diff3';

/** Both sides changed the same lines. */
export interface Conflict {
  readonly is: 'conflict';
  readonly base: readonly string[];
  readonly theirs: readonly string[];
  readonly mine: readonly string[];
}
/** Lines that are decided: unchanged, or changed by one side only. */
interface Decided {
  readonly is: 'decided';
  readonly lines: readonly string[];
}
export type MergePart = Conflict | Decided;

/** Whose lines a conflict gets. */
export type Side = 'theirs' | 'mine';

const linesOf = (text: string): string[] => text.split('\n');

/** Merges two changed forms of a text line by line. */
export function mergeTexts({ base, theirs, mine }: Record<'base' | 'theirs' | 'mine', string>): MergePart[] {
  return diff3MergeRegions(linesOf(mine), linesOf(base), linesOf(theirs)).map((region): MergePart => {
    if (region.stable) return { is: 'decided', lines: region.bufferContent };
    const { aContent, oContent, bContent } = region;
    // Both made the same change.
    if (aContent.join('\n') === bContent.join('\n')) return { is: 'decided', lines: aContent };
    return { is: 'conflict', base: oContent, theirs: bContent, mine: aContent };
  });
}

export const conflictsOf = (parts: readonly MergePart[]): Conflict[] => parts.filter((part) => part.is === 'conflict');

/** The merged text. @param sides - one for each conflict, in their order */
export function mergedText(parts: readonly MergePart[], sides: readonly Side[]): string {
  let at = 0;
  const lines = parts.flatMap((part) => (part.is === 'decided' ? part.lines : part[sides[at++] ?? 'mine']));
  return lines.join('\n');
}
