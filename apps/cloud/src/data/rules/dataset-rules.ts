import type { ErrorCode, ErrorData } from '@platform/contract/errors';
import { type JobKind, type Split, splits } from '@platform/contract/job';
import { nearestLabel } from './nearest-label.ts';

/** What the rules need to know of a picture. */
export interface Labelled {
  /** As people name it; for examples in errors. */
  readonly id?: string;
  readonly sha256: string;
  readonly tags: readonly string[];
  /** Those of the tags that came with the capture: no labels. */
  readonly captureTags: readonly string[];
  readonly classifications: readonly { readonly label: string }[];
  readonly boxes: readonly { readonly label: string }[];
}

export const rules = {
  /** Pictures, or boxes, of each label that occurs. */
  minPerLabel: 10,
  /** Labels of a classifier that are asked for, and that occur. */
  minLabels: 2,
  /** Pictures of an object detector in all. */
  minForDetection: 15,
  /** Pictures without any of the labels, as a share of all labels given (such a picture counts as one label). */
  maxUnlabelledShare: 0.2,
  /** Pictures in one dataset that is trained on. */
  maxPictures: 500_000,
} as const;

export type Verdict =
  | { readonly ok: true; readonly counts: LabelCounts }
  | { readonly ok: false; readonly code: ErrorCode; readonly data: ErrorData };

export interface LabelCounts {
  readonly pictures: number;
  /** Pictures of each label; for object detection its boxes. */
  readonly labels: Readonly<Record<string, number>>;
  /** Pictures without any of the requested labels: the class `VIAM_UNKNOWN`, or background. */
  readonly unlabelled: number;
  /** Pictures with several of the requested labels: left out of single-label training. */
  readonly ambiguous: number;
  /** Requested labels that no picture carries. */
  readonly absent: readonly string[];
}

/** What stays of a picture while a dataset is looked at: few bytes, because there may be very many. */
export interface Example {
  readonly sha256: string;
  /** Of those asked for, sorted, each once. */
  readonly labels: readonly string[];
  /** The part of the data that its owner chose for it. */
  readonly chosen: Split | undefined;
}

const splitTags = new Map<string, Split>(splits.map((split) => [`split:${split}`, split]));
/** Tags that say where an image belongs, not what it shows. */
export const splitTagNames: readonly string[] = [...splitTags.keys()];

/** The part of the data that a person chose for a picture by a tag `split:train`, `split:validation` or `split:test`. */
export function chosenSplit(tags: readonly string[]): Split | undefined {
  for (const tag of tags) {
    const split = splitTags.get(tag);
    if (split) return split;
  }
  return undefined;
}

const sortedOnce = (labels: readonly string[]): string[] =>
  labels.length < 2 ? [...labels] : [...new Set(labels)].toSorted();

/** The tags that are labels: neither sent with a capture nor `split:` tags. */
export const labelTags = ({ tags, captureTags }: Pick<Labelled, 'tags' | 'captureTags'>): string[] =>
  tags.filter((tag) => !splitTags.has(tag) && !captureTags.includes(tag));

/** Labels among the tags, and classifications. Sorted, each once. */
export const labelsOf = (image: Pick<Labelled, 'tags' | 'captureTags' | 'classifications'>): string[] =>
  sortedOnce([
    ...labelTags(image),
    ...image.classifications.map(({ label }) => label).filter((label) => !splitTags.has(label)),
  ]);

/** Labels of a picture as a kind of job sees them; scripts see all. */
function labelsFor(kind: JobKind, picture: Labelled): string[] {
  const boxes = (): string[] => sortedOnce(picture.boxes.map(({ label }) => label));
  if (kind === 'object_detection') return boxes();
  return kind === 'custom' ? sortedOnce([...labelsOf(picture), ...boxes()]) : labelsOf(picture);
}

/** Counts pictures one by one, so that a dataset need not be in memory. */
export interface Tally {
  add(picture: Labelled): Example;
  /** Whether a model of this kind can be trained on what was added. */
  verdict(): Verdict;
  /** What the dataset has besides what was asked for. */
  found(): FoundLabels;
}

/** What a dataset has, so that an error can name it. */
export interface FoundLabels {
  /** Labels that nobody asked for, with the number of their pictures. */
  readonly others: ReadonlyMap<string, number>;
  /** Of detection: pictures with labels of the whole picture, which it does not learn from. */
  readonly labelled: number;
  /** Pictures with any box. */
  readonly boxed: number;
  /** Some pictures that carry none of the labels. */
  readonly examples: readonly string[];
}

/** Different labels that are counted besides those asked for. */
const mostOthers = 1_000;
const mostExamples = 3;

/** @param requested - the labels to learn; scripts get all, whatever stands here. */
export function tally(kind: JobKind, requested: readonly string[]): Tally {
  const wanted = kind === 'custom' ? undefined : new Set(requested);
  const perLabel = new Map([...(wanted ?? [])].toSorted().map((label) => [label, 0]));
  const seen = { pictures: 0, unlabelled: 0, ambiguous: 0 };
  // Most pictures share their set of labels with many others.
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
  return {
    add(picture) {
      const all = labelsFor(kind, picture);
      const labels = all.filter((label) => wanted?.has(label) ?? true);
      seen.pictures++;
      if (picture.boxes.length > 0) kinds.boxed++;
      if (labelsOf(picture).length > 0) kinds.labelled++;
      for (const label of all)
        if (!(wanted?.has(label) ?? true) && (others.has(label) || others.size < mostOthers))
          others.set(label, (others.get(label) ?? 0) + 1);
      if (labels.length === 0 && picture.id !== undefined && unlabelled.length < mostExamples)
        unlabelled.push(picture.id);
      if (labels.length === 0) seen.unlabelled++;
      else if (kind === 'object_detection') {
        for (const { label } of picture.boxes) if (wanted?.has(label)) count(label, 1);
      } else if (kind === 'single_label_classification' && labels.length > 1) seen.ambiguous++;
      else for (const label of labels) count(label, 1);
      return { sha256: picture.sha256, labels: shared(labels), chosen: chosenSplit(picture.tags) };
    },
    verdict() {
      const absent = [...perLabel.keys()].filter((label) => perLabel.get(label) === 0);
      const counts: LabelCounts = { ...seen, labels: Object.fromEntries(perLabel), absent };
      return problem(kind, counts, this.found()) ?? { ok: true, counts };
    },
    found: () => ({ ...kinds, others, examples: unlabelled }),
  };
}

const no = (code: ErrorCode, data: ErrorData): Verdict => ({ ok: false, code, data });

/** The first rule that is broken. */
function problem(kind: JobKind, counts: LabelCounts, found: FoundLabels): Verdict | undefined {
  if (kind === 'custom') return counts.pictures === 0 ? no('DATASET_EMPTY', { problem: 'it is empty' }) : undefined;
  const isDetection = kind === 'object_detection';
  const limit = isDetection ? 1 : rules.minLabels;
  const requested = Object.keys(counts.labels);
  if (requested.length < limit) return no('TOO_FEW_LABELS', { limit, count: requested.length });
  if (counts.pictures === 0) return no('DATASET_EMPTY', { problem: 'it is empty' });
  if (counts.unlabelled === counts.pictures)
    return no('DATASET_EMPTY', { problem: missingLabels(isDetection, counts, found) });
  const occurring = Object.entries(counts.labels).filter(([, count]) => count > 0);
  if (occurring.length === 0) return no('LABELS_AMBIGUOUS', { count: counts.ambiguous });
  if (occurring.length < limit) {
    return no('TOO_FEW_LABELS', { limit, count: occurring.length, counts: shown(counts), ...offered(counts, found) });
  }
  if (isDetection && counts.pictures < rules.minForDetection) {
    return no('DATASET_TOO_SMALL', { count: counts.pictures, limit: rules.minForDetection });
  }
  const few = occurring.find(([, count]) => count < rules.minPerLabel);
  if (few) {
    const [label, count] = few;
    const code = isDetection ? 'TOO_FEW_BOXES' : 'TOO_FEW_PICTURES';
    return no(code, { label, count, limit: rules.minPerLabel, counts: shown(counts) });
  }
  const total = counts.unlabelled + occurring.reduce((sum, [, count]) => sum + count, 0);
  const most = Math.floor(rules.maxUnlabelledShare * total);
  if (counts.unlabelled > most) {
    const examples = found.examples.join(', ');
    const data = { count: counts.unlabelled, total, limit: most, ...(examples && { examples }) };
    return no('TOO_MANY_UNLABELED', { ...data, ...offered(counts, found) });
  }
  return undefined;
}

/** `cup 12, mug 3`, short enough for an error. */
const shown = (counts: LabelCounts): string => listed(Object.entries(counts.labels));
function listed(entries: readonly (readonly [label: string, count: number])[]): string {
  const all = entries.map(([label, count]) => `${label} ${count}`);
  return all.length > 20 ? `${all.slice(0, 20).join(', ')}, …` : all.join(', ');
}

/** The other labels of the dataset, and which of them were probably meant. */
function offered(counts: LabelCounts, { others }: FoundLabels): { found?: string } {
  if (others.size === 0) return {};
  const all = listed([...others].toSorted(([, a], [, b]) => b - a));
  const meant = counts.absent.flatMap((label) => nearestLabel(label, others.keys()) ?? []);
  return { found: meant.length > 0 ? `${all} (did you mean ${meant.map((one) => `"${one}"`).join(', ')}?)` : all };
}

/** Why no picture carries what was asked for. */
function missingLabels(isDetection: boolean, counts: LabelCounts, found: FoundLabels): string {
  const n = counts.pictures;
  const examples = found.examples.length > 0 ? `; for example ${found.examples.join(', ')}` : '';
  if (isDetection && found.boxed === 0) {
    const labels =
      found.labelled > 0 ? `, though ${found.labelled} have labels, which a detector does not learn from` : '';
    return `none of its ${n} images has a box${labels}${examples}`;
  }
  const { found: others } = offered(counts, found);
  const asked = Object.keys(counts.labels).map((label) => `"${label}"`);
  const names = asked.length > 5 ? `${asked.slice(0, 5).join(', ')}, …` : asked.join(', ');
  const what = isDetection ? 'has a box with' : 'carries';
  return others === undefined
    ? `none of its ${n} images has a label${examples}`
    : `none of its ${n} images ${what} ${names}; it has: ${others}`;
}

/** Things that do not stop a training but that its owner should know; one sentence each. */
export function advice(kind: JobKind, counts: LabelCounts, found?: FoundLabels): string[] {
  if (kind === 'custom') return [];
  const isDetection = kind === 'object_detection';
  const [one, many] = isDetection ? ['box', 'boxes'] : ['picture', 'pictures'];
  const lines = counts.absent.map((label) => {
    const meant = found && nearestLabel(label, found.others.keys());
    const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
    return `No ${one} carries the label "${label}": the model will not know it.${hint}`;
  });
  if (counts.pictures < rules.minForDetection) {
    lines.push(
      `There are ${counts.pictures} pictures; from ${rules.minForDetection} on a model can be relied on more.`,
    );
  }
  if (counts.ambiguous > 0) {
    lines.push(`${counts.ambiguous} pictures carry several of the labels and are left out.`);
  }
  const sizes = Object.values(counts.labels).filter((count) => count > 0);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  if (most > 3 * least)
    lines.push(`The most frequent label has ${most} ${many}, the rarest ${least}: more of the rare ones would help.`);
  if (counts.unlabelled > 0)
    lines.push(
      isDetection
        ? `${counts.unlabelled} pictures have no box with these labels and serve as background.`
        : `${counts.unlabelled} pictures carry none of the labels and make a class of their own.`,
    );
  return lines;
}
