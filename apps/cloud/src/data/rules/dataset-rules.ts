import { alikeLabels } from '@platform/contract/job/alike-labels';
import { type BrokenRule, brokenRules, datasetAdvice, type LabelCounts } from '@platform/contract/job/dataset-rules';
import type { ErrorCode, ErrorData } from '@platform/contract/errors/errors';
import { type JobKind, type Split, splits } from '@platform/contract/job/job';
import { type BuiltInKind, isBuiltInKind, modelKind, modelKinds } from '@platform/contract/job/model-kinds';
import { tagWordProblem } from '@platform/contract/job/tag-words';
import { nearestLabel } from './nearest-label.ts';

/** The data about an image that the rules use. */
export interface Labelled {
  /** Name for users, for examples in errors. */
  readonly id?: string;
  readonly sha256: string;
  readonly tags: readonly string[];
  /** Subset of `tags` that came with the capture; these are not labels. */
  readonly captureTags: readonly string[];
  readonly classifications: readonly { readonly label: string }[];
  readonly boxes: readonly { readonly label: string }[];
  readonly fileName?: string;
  /** As sent with the file. */
  readonly mimeType?: string;
  /** Why it cannot be used as an image. Null: it can, or was not measured yet. */
  readonly imageProblem?: string | null;
  /** Set if the image has 16 bits per channel. */
  readonly imageUsedBits?: number | null;
}

export type TallyResult =
  | { readonly ok: true; readonly counts: LabelCounts }
  | { readonly ok: false; readonly code: ErrorCode; readonly data: ErrorData };

/** The data kept per image while a dataset is checked; small, because a dataset may have many images. */
export interface Example {
  readonly sha256: string;
  /** Requested labels of the image, sorted, each once. */
  readonly labels: readonly string[];
  /** The split that its owner chose. */
  readonly chosen: Split | undefined;
  /** Images of one group show the same object or scene; they stay in one split. */
  readonly group: string | undefined;
}

const splitTags = new Map<string, Split>(splits.map((split) => [`split:${split}`, split]));
/** Tags that assign a split and are not labels. */
export const splitTagNames: readonly string[] = [...splitTags.keys()];

/** The split that a user chose by a tag `split:train`, `split:validation` or `split:test`. */
export function chosenSplit(tags: readonly string[]): Split | undefined {
  for (const tag of tags) {
    const split = splitTags.get(tag);
    if (split) return split;
  }
  return undefined;
}

/** Prefix of tags that name a group and are not labels. */
export const groupTagPrefix = 'group:';
/** The group that a user named by a tag `group:NAME`; the first one counts. */
export function groupOf(tags: readonly string[]): string | undefined {
  const tag = tags.find((one) => one.startsWith(groupTagPrefix) && one.length > groupTagPrefix.length);
  return tag?.slice(groupTagPrefix.length);
}
/** Whether a tag directs the split and is not a label. */
const isSplitTag = (tag: string): boolean => splitTags.has(tag) || tag.startsWith(groupTagPrefix);

const sortedOnce = (labels: readonly string[]): string[] =>
  labels.length < 2 ? [...labels] : [...new Set(labels)].toSorted();

/** The tags that are labels: neither capture tags nor `split:` and `group:` tags. */
export const labelTags = ({ tags, captureTags }: Pick<Labelled, 'tags' | 'captureTags'>): string[] =>
  tags.filter((tag) => !isSplitTag(tag) && !captureTags.includes(tag));

/** Label tags and classifications. Sorted, each once. */
export const labelsOf = (image: Pick<Labelled, 'tags' | 'captureTags' | 'classifications'>): string[] =>
  sortedOnce([
    ...labelTags(image),
    ...image.classifications.map(({ label }) => label).filter((label) => !isSplitTag(label)),
  ]);

/** Labels of an image for a kind of job; those that train no built-in model get all labels. */
function labelsFor(kind: JobKind, image: Labelled): string[] {
  const boxes = (): string[] => sortedOnce(image.boxes.map(({ label }) => label));
  const facts = modelKind(kind);
  if (!facts) return sortedOnce([...labelsOf(image), ...boxes()]);
  return facts.labelSource === 'boxes' ? boxes() : labelsOf(image);
}

/** Whether a training leaves the image out: it has several of the labels of a model that gives one. */
export const isAmbiguous = (kind: JobKind, { labels }: Pick<Example, 'labels'>): boolean =>
  modelKind(kind)?.labelsPerImage === 'one' && labels.length > 1;

/** Counts images one by one, so that a dataset need not be in memory. */
export interface Tally {
  add(image: Labelled): Example;
  /** Whether a model of this kind can be trained on the added images. */
  result(): TallyResult;
  /** Labels of the dataset besides the requested ones. */
  found(): FoundLabels;
}

/** Labels that a dataset has, for errors. */
export interface FoundLabels {
  /** Labels that were not requested, with their numbers of images. */
  readonly others: ReadonlyMap<string, number>;
  /** For detection: images with image-level labels, which a detector does not learn from. */
  readonly labelled: number;
  /** Images with at least one box. */
  readonly boxed: number;
  /** Some images without any of the requested labels. */
  readonly examples: readonly string[];
  /** Images with several of the requested labels, per label; single-label training leaves them out. */
  readonly ambiguous: ReadonlyMap<string, number>;
}

/** Limit of distinct labels that are counted besides the requested ones. */
const mostOthers = 1_000;
const mostExamples = 3;

/** @param requested - the labels to learn; ignored for scripts, which get all labels. */
export function tally(kind: JobKind, requested: readonly string[]): Tally {
  const facts = modelKind(kind);
  const wanted = facts && new Set(requested);
  const perLabel = new Map([...(wanted ?? [])].toSorted().map((label) => [label, 0]));
  const seen = { images: 0, unlabelled: 0, ambiguous: 0 };
  // Interned, because most images share their set of labels with many others.
  const sets = new Map<string, readonly string[]>();
  const shared = (labels: readonly string[]): readonly string[] => {
    const key = labels.join('\0');
    const known = sets.get(key);
    if (!known) sets.set(key, labels);
    return known ?? labels;
  };
  const count = (label: string, by: number): void => void perLabel.set(label, (perLabel.get(label) ?? 0) + by);
  const others = new Map<string, number>();
  const unlabelled: string[] = [];
  const kinds = { labelled: 0, boxed: 0 };
  const ambiguous = new Map<string, number>();
  return {
    add(image) {
      const all = labelsFor(kind, image);
      const labels = all.filter((label) => wanted?.has(label) ?? true);
      seen.images++;
      if (image.boxes.length > 0) kinds.boxed++;
      if (labelsOf(image).length > 0) kinds.labelled++;
      for (const label of all)
        if (!(wanted?.has(label) ?? true) && (others.has(label) || others.size < mostOthers))
          others.set(label, (others.get(label) ?? 0) + 1);
      if (labels.length === 0 && image.id !== undefined && unlabelled.length < mostExamples) unlabelled.push(image.id);
      if (labels.length === 0) seen.unlabelled++;
      else if (facts?.labelSource === 'boxes') {
        for (const { label } of image.boxes) if (wanted?.has(label)) count(label, 1);
      } else if (isAmbiguous(kind, { labels })) {
        seen.ambiguous++;
        for (const label of labels) ambiguous.set(label, (ambiguous.get(label) ?? 0) + 1);
      } else for (const label of labels) count(label, 1);
      return {
        sha256: image.sha256,
        labels: shared(labels),
        chosen: chosenSplit(image.tags),
        group: groupOf(image.tags),
      };
    },
    result() {
      const absent = [...perLabel.keys()].filter((label) => perLabel.get(label) === 0);
      const counts: LabelCounts = { ...seen, labels: Object.fromEntries(perLabel), absent };
      return problem(kind, counts, this.found()) ?? { ok: true, counts };
    },
    found: () => ({ ...kinds, others, examples: unlabelled, ambiguous }),
  };
}

const no = (code: ErrorCode, data: ErrorData): TallyResult => ({ ok: false, code, data });

/** The first broken rule, with the labels that the dataset has instead. */
function problem(kind: JobKind, counts: LabelCounts, found: FoundLabels): TallyResult | undefined {
  if (counts.images === 0 && Object.keys(counts.labels).length >= (modelKind(kind)?.minimum.labels ?? 0))
    return no('DATASET_EMPTY', { problem: 'it is empty' });
  if (!isBuiltInKind(kind)) return undefined;
  const isDetection = modelKinds[kind].labelSource === 'boxes';
  const isNothingRequested = Object.keys(counts.labels).length === 0;
  // "All labels of the dataset" are none.
  if (isNothingRequested && counts.images > 0 && (isDetection ? found.boxed : found.labelled) === 0)
    return no('DATASET_EMPTY', { problem: missingLabels(isDetection, counts, found) });
  const [broken] = brokenRules(kind, counts);
  return broken && no(broken.code, { ...broken.data, ...explanation(kind, broken, counts, found) });
}

function explanation(
  kind: BuiltInKind,
  { code, data }: BrokenRule,
  counts: LabelCounts,
  found: FoundLabels,
): ErrorData {
  switch (code) {
    case 'DATASET_EMPTY':
      return { problem: missingLabels(modelKinds[kind].labelSource === 'boxes', counts, found) };
    case 'TOO_FEW_LABELS':
      return data.count === Object.keys(counts.labels).length
        ? {}
        : { counts: shown(counts), ...offered(counts, found) };
    case 'TOO_FEW_BOXES':
    case 'TOO_FEW_IMAGES':
      return { counts: shown(counts) };
    case 'TOO_MANY_UNLABELED': {
      const examples = found.examples.join(', ');
      return { ...(examples && { examples }), ...offered(counts, found) };
    }
    default:
      return {};
  }
}

/** For example `cup 12, mug 3`, truncated for errors. */
const shown = (counts: LabelCounts): string => listed(Object.entries(counts.labels));
function listed(entries: readonly (readonly [label: string, count: number])[]): string {
  const all = entries.map(([label, count]) => `${label} ${count}`);
  return all.length > 20 ? `${all.slice(0, 20).join(', ')}, …` : all.join(', ');
}

/** The other labels of the dataset, with suggestions for misspelled ones. */
function offered(counts: LabelCounts, { others }: FoundLabels): { found?: string } {
  if (others.size === 0) return {};
  const all = listed([...others].toSorted(([, a], [, b]) => b - a));
  const meant = counts.absent.flatMap((label) => nearestLabel(label, others.keys()) ?? []);
  return { found: meant.length > 0 ? `${all} (did you mean ${meant.map((one) => `"${one}"`).join(', ')}?)` : all };
}

/** Explains why no image has the requested labels. */
function missingLabels(isDetection: boolean, counts: LabelCounts, found: FoundLabels): string {
  const n = counts.images;
  const examples = found.examples.length > 0 ? `; for example ${found.examples.join(', ')}` : '';
  if (isDetection && found.boxed === 0) {
    const labels =
      found.labelled > 0 ? `, though ${found.labelled} have labels, which a detector does not learn from` : '';
    return `none of its ${n} images has a box${labels}${examples}`;
  }
  const { found: others } = offered(counts, found);
  const requested = Object.keys(counts.labels).map((label) => `"${label}"`);
  const names = requested.length > 5 ? `${requested.slice(0, 5).join(', ')}, …` : requested.join(', ');
  const what = isDetection ? 'has a box with' : 'carries';
  return others === undefined
    ? `none of its ${n} images has a label${examples}`
    : `none of its ${n} images ${what} ${names}; it has: ${others}`;
}

/** Warnings that do not prevent a training; one sentence each. */
export const advice = (kind: JobKind, counts: LabelCounts, found?: FoundLabels): string[] =>
  !isBuiltInKind(kind) ? [] : [...absentAdvice(kind, counts, found), ...datasetAdvice(kind, counts)];

/** Labels that are nearly `split:` or `group:` tags, from before such tags were refused; one sentence each. */
export const tagWordAdvice = (labels: readonly string[]): string[] =>
  labels.flatMap((label) => {
    const hint = tagWordProblem(label);
    return hint === undefined ? [] : [`"${label}" is a label, and neither chooses a split nor names a group: ${hint}.`];
  });

/** Requested labels that look alike and would be classes of their own; one sentence per group. */
export const alikeAdvice = (labels: readonly string[]): string[] =>
  alikeLabels(new Set(labels)).map((group) => {
    const names = group.map((label) => JSON.stringify(label)).join(', ');
    return `These labels look alike, and the model learns each as a class of its own: ${names}. Merge them on the page of the dataset.`;
  });

/** Requested labels without an image to learn from; one sentence each. */
export function absentAdvice(kind: BuiltInKind, counts: LabelCounts, found?: FoundLabels): string[] {
  const unit = modelKinds[kind].labelSource === 'boxes' ? 'box' : 'image';
  return counts.absent.map((label) => {
    const leftOut = found?.ambiguous.get(label) ?? 0;
    if (leftOut > 0)
      return `All images with the label "${label}" (${leftOut}) carry another of these labels, too, and are left out: the model will not know it.`;
    const meant = found && nearestLabel(label, found.others.keys());
    const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
    return `No ${unit} carries the label "${label}": the model will not know it.${hint}`;
  });
}
