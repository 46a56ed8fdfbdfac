import type { BinaryMetadata } from '@platform/contract/gen/platform/app/data/v1/data_pb';

type Labelled = Pick<BinaryMetadata, 'labels' | 'captureMetadata' | 'annotations'>;

const isSplit = (tag: string): boolean => tag.startsWith('split:');

/** Labels that training uses: set by users or predicted by a model, each once. */
export const labelsOf = ({ labels, annotations }: Labelled): string[] => [
  ...new Set([...labels, ...(annotations?.classifications ?? []).map(({ label }) => label)]),
];

/** Tags that a machine sent with its capture. */
export const captureTagsOf = ({ labels, captureMetadata }: Labelled): string[] =>
  (captureMetadata?.tags ?? []).filter((tag) => !labels.includes(tag) && !isSplit(tag));

/** A tag by which the images of a dataset can be filtered. */
export interface TagChoice {
  tag: string;
  kind: 'label' | 'split' | 'capture';
}

/** Labels first, then splits, then tags of captures. A tag that is a label of some image counts as a label. */
export function tagChoices(tags: readonly string[], labels: readonly string[]): TagChoice[] {
  const known = new Set(labels);
  const others = tags.filter((tag) => !known.has(tag)).toSorted();
  return [
    ...labels.toSorted().map((tag): TagChoice => ({ tag, kind: 'label' })),
    ...others.filter(isSplit).map((tag): TagChoice => ({ tag, kind: 'split' })),
    ...others.filter((tag) => !isSplit(tag)).map((tag): TagChoice => ({ tag, kind: 'capture' })),
  ];
}
