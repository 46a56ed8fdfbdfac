import { alikeLabels, plainLabel } from '@platform/contract/job/alike-labels';

/** Labels that a user probably meant as one, with the one to keep. */
export interface AlikeLabels {
  readonly keep: string;
  readonly others: readonly string[];
}

/** Keeps the label of most images, of equal ones that without odd blanks or encodings. */
export function alikeGroups(labels: readonly { label: string; images: number }[]): AlikeLabels[] {
  const images = new Map<string, number>();
  for (const one of labels) images.set(one.label, (images.get(one.label) ?? 0) + one.images);
  const isPlain = (label: string): number => (plainLabel(label) === label ? 1 : 0);
  return alikeLabels(images.keys()).flatMap((group) => {
    const [keep, ...others] = group.toSorted(
      (a, b) => (images.get(b) ?? 0) - (images.get(a) ?? 0) || isPlain(b) - isPlain(a) || (a < b ? -1 : 1),
    );
    return keep === undefined ? [] : [{ keep, others }];
  });
}

/** A label with marks for what is invisible: white space, and the encoding of letters with accents. */
export function visibleLabel(label: string): string {
  const spaced = label.replaceAll(/^\s|\s$|\s(?=\s)/gu, '␣');
  return label.normalize('NFC') === label ? spaced : `${spaced} (decomposed letters)`;
}

/** The known label that a new one is nearly; undefined: it is new, or exactly a known one. */
export const alikeTo = (label: string, known: readonly string[]): string | undefined =>
  known.includes(label)
    ? undefined
    : alikeLabels([...known, label])
        .find((group) => group.includes(label))
        ?.find((one) => one !== label);
