/** What the held-out images have in common with the training images: groups, and images that are nearly the same. */
import type { HeldOutReport } from '@platform/contract/job/evaluation';
import type { DatasetLine } from '@platform/contract/job/job';
import type { FoundBy } from './near-copies.ts';
import { isNear, ThumbnailIndex, thumbnailOf } from './thumbnails.ts';

/** Images of one unit stay in one split: those of a group, else equal files. */
export const unitOf = ({ group, sha256 }: Pick<DatasetLine, 'group' | 'sha256'>): string =>
  group === undefined ? sha256 : `group:${group}`;
/** The same, with near copies if the trainer looked for them. */
export const unitWithCopies = ({ unit, line }: { unit?: string; line: DatasetLine }): string => unit ?? unitOf(line);

const mostExamples = 3;
const nameOf = ({ file_name, image_path }: DatasetLine): string => file_name || image_path;

/** Near copies between training and held-out images. */
export interface CopiesFound<S> {
  measure: NonNullable<HeldOutReport['measure']>;
  /** A training image that is nearly the same, by held-out image. */
  copies: ReadonlyMap<S, S>;
  allAlike: boolean;
  /** Images that the trainer moved to the split of their near copies; undefined: it moves none. */
  moved?: number;
  /** Images that were left out, as near copies of test images that users chose. */
  leftOut?: number;
}

/** What a trainer knows of images that look alike. */
export interface CopyRules<S> {
  /** Whether they may be near copies. */
  mayBeCopies(a: S, b: S, by: FoundBy): boolean;
  /** Whether they may show one scene: for the warning that all training images are alike. */
  mayBeOneScene(a: S, b: S, by: FoundBy): boolean;
}

export function findCopiesByThumbnail<S>(
  training: readonly S[],
  heldOut: readonly S[],
  images: CopyRules<S> & { side: number; pixels(sample: S): Uint8Array },
): CopiesFound<S> {
  const { side, pixels } = images;
  const known = new ThumbnailIndex<S>();
  const [example] = training;
  const first = example && thumbnailOf(pixels(example), side);
  let areAllAlike = training.length > 1;
  for (const sample of training) {
    const thumbnail = thumbnailOf(pixels(sample), side);
    known.add(thumbnail, sample);
    if (!first || !isNear(first, thumbnail) || !images.mayBeOneScene(example, sample, 'thumbnails'))
      areAllAlike = false;
  }
  const copies = new Map<S, S>();
  for (const sample of heldOut) {
    const like = known.find(thumbnailOf(pixels(sample), side), (one) => images.mayBeCopies(sample, one, 'thumbnails'));
    if (like) copies.set(sample, like);
  }
  return { measure: 'thumbnails', copies, allAlike: areAllAlike };
}

export function describeHeldOut<S extends { line: DatasetLine }>(
  training: readonly S[],
  heldOut: readonly S[],
  { measure, copies, allAlike, moved, leftOut = 0 }: CopiesFound<S>,
): HeldOutReport {
  const examples = [...copies].map(([{ line }, like]) => ({ image: nameOf(line), like: nameOf(like.line) }));
  const groups = new Set(heldOut.flatMap(({ line }) => line.group ?? []));
  const trained = new Set(training.map(({ line }) => unitOf(line)));
  return {
    split_by: heldOut.some(({ line }) => line.group !== undefined) ? 'group' : 'image',
    groups: groups.size,
    shared_groups: [...groups].filter((group) => trained.has(`group:${group}`)).length,
    near_copies: copies.size,
    examples: examples.slice(0, mostExamples),
    all_alike: allAlike,
    measure,
    ...(moved === undefined ? {} : { moved }),
    ...(leftOut === 0 ? {} : { left_out: leftOut }),
  };
}

const measures = {
  thumbnails: 'thumbnails',
  features: 'features of EfficientNet-Lite0 and thumbnails',
} as const;

/** For the model card, the most important first. @param count - number of held-out images. */
export function heldOutSentences(report: HeldOutReport, count: number): { split: string; warnings: string[] } {
  const { split_by: by, groups, shared_groups: shared, near_copies: copies, examples, all_alike: alike } = report;
  const { measure = 'thumbnails', moved, left_out: leftOut = 0 } = report;
  const divided =
    by === 'group'
      ? `Split by group: the ${count} held-out images are of ${groups} ${groups === 1 ? 'group' : 'groups'}, ${shared === 0 ? 'none of which is' : `${shared} of which are`} among the training images.`
      : 'Split by image: one object may be in training and held-out images. Tag the images of an object `group:NAME` to keep them together.';
  const kept =
    moved === undefined
      ? `Near copies are looked for by ${measures[measure]}; ${copies} of ${count} held-out images are near copies of training images.`
      : `Near copies, found by ${measures[measure]}, are kept in one split: ${moved} ${moved === 1 ? 'image' : 'images'} changed the split for it, and ${copies} of ${count} held-out images are near copies of training images.`;
  const without =
    leftOut === 0
      ? ''
      : ` ${leftOut} ${leftOut === 1 ? 'image was' : 'images were'} left out: near copies of test images that users chose.`;
  const pairs = examples.map(({ image, like }) => `${image} and ${like}`).join('; ');
  const warnings = [
    ...(alike ? ['All training images are near copies of one: the score says nothing about other images.'] : []),
    ...(copies > 0
      ? [
          `${copies} of ${count} held-out images are near copies of training images (${pairs}): the score is too high for new images. Tag images of one scene \`group:NAME\`, or tag images of other scenes \`split:test\`.`,
        ]
      : []),
  ];
  return { split: `${divided} ${kept}${without}`, warnings };
}
