/** Damerau-Levenshtein distance: insertions, deletions, replacements, and transpositions of neighbours. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced, swapped));
    }
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

const plain = (label: string): string => label.toLowerCase().replace(/[\s_-]+/g, '');

/** The label that was probably meant: equal except for case and separators, or within one or two edits. */
export function nearestLabel(label: string, known: Iterable<string>): string | undefined {
  const wanted = plain(label);
  const most = wanted.length < 3 ? 0 : wanted.length < 5 ? 1 : 2;
  let best: { label: string; edits: number } | undefined;
  for (const one of known) {
    const word = plain(one);
    if (Math.abs(word.length - wanted.length) > most) continue;
    const edits = distance(wanted, word);
    if (edits <= most && edits < (best?.edits ?? Infinity)) best = { label: one, edits };
  }
  return best?.label;
}
