/** The label as it is stored: in NFC, without white space around it. */
export const plainLabel = (label: string): string => label.normalize('NFC').trim();

/** Compares labels without case, accents' encoding and the number of blanks. */
const alikeKey = (label: string): string =>
  label
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s_-]+/g, ' ')
    .trim();

/** Groups of labels that look alike and stay classes of their own. */
export const alikeLabels = (labels: Iterable<string>): string[][] =>
  [...Map.groupBy(labels, alikeKey).values()].filter((group) => group.length > 1);
