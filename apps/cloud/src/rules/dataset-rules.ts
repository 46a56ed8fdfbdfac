import type { ErrorCode, ErrorData } from '@platform/contract/errors';
import { type Split, splits } from '@platform/contract/job';

/** What the rules need to know of a picture. */
export interface Labelled {
  readonly sha256: string;
  readonly tags: readonly string[];
  readonly classifications: readonly { readonly label: string }[];
}

export const rules = {
  /** Pictures of each label that occurs. */
  minPerLabel: 10,
  minLabels: 2,
  /** At most this share of the pictures may carry none of the labels. */
  maxUnlabelledShare: 0.2,
} as const;

export type Verdict =
  | { readonly ok: true; readonly counts: LabelCounts }
  | { readonly ok: false; readonly code: ErrorCode; readonly data: ErrorData };

export interface LabelCounts {
  readonly labels: Readonly<Record<string, number>>;
  /** Pictures without any of the requested labels: they become the class `VIAM_UNKNOWN`. */
  readonly unlabelled: number;
  /** Pictures with several of the requested labels: left out of single-label training. */
  readonly ambiguous: number;
  /** Requested labels that no picture carries. */
  readonly absent: readonly string[];
}

const splitTags = new Map<string, Split>(splits.map((split) => [`split:${split}`, split]));

/** The part of the data that a person chose for a picture by a tag `split:train`, `split:validation` or `split:test`. */
export function chosenSplit(tags: readonly string[]): Split | undefined {
  for (const tag of tags) {
    const split = splitTags.get(tag);
    if (split) return split;
  }
  return undefined;
}

/** Tags and classifications both count as labels; the `split:` tags do not. Sorted, each once. */
export const labelsOf = ({ tags, classifications }: Pick<Labelled, 'tags' | 'classifications'>): string[] =>
  [...new Set([...tags, ...classifications.map(({ label }) => label)])]
    .filter((label) => !splitTags.has(label))
    .toSorted();

/** Those labels of a picture that were asked for. */
export const matching = (picture: Pick<Labelled, 'tags' | 'classifications'>, wanted: ReadonlySet<string>): string[] =>
  labelsOf(picture).filter((label) => wanted.has(label));

const no = (code: ErrorCode, data: ErrorData): Verdict => ({ ok: false, code, data });

/** Whether a classifier for exactly one label per picture can be trained on these pictures. */
export function checkSingleLabel(pictures: readonly Labelled[], requested: readonly string[]): Verdict {
  const wanted = new Set(requested);
  if (wanted.size < rules.minLabels) return no('TOO_FEW_LABELS', { limit: rules.minLabels, count: wanted.size });
  if (pictures.length === 0) return no('DATASET_EMPTY', {});

  const perLabel = new Map([...wanted].toSorted().map((label) => [label, 0]));
  let unlabelled = 0;
  let ambiguous = 0;
  for (const picture of pictures) {
    const found = matching(picture, wanted);
    const [label] = found;
    if (label === undefined) unlabelled++;
    else if (found.length > 1) ambiguous++;
    else perLabel.set(label, (perLabel.get(label) ?? 0) + 1);
  }
  const occurring = [...perLabel].filter(([, count]) => count > 0);
  const counts = shown(perLabel);
  if (unlabelled === pictures.length) return no('DATASET_EMPTY', { labels: [...perLabel.keys()].join(', ') });
  if (occurring.length === 0) return no('LABELS_AMBIGUOUS', { count: ambiguous });
  if (occurring.length < rules.minLabels) {
    return no('TOO_FEW_LABELS', { limit: rules.minLabels, count: occurring.length, counts });
  }
  const few = occurring.filter(([, count]) => count < rules.minPerLabel);
  if (few.length > 0) {
    const [label, count] = few[0] as [string, number];
    return no('TOO_FEW_PICTURES', { label, count, limit: rules.minPerLabel, counts });
  }
  const total = unlabelled + occurring.reduce((sum, [, count]) => sum + count, 0);
  const most = Math.floor(rules.maxUnlabelledShare * total);
  if (unlabelled > most) return no('TOO_MANY_UNLABELED', { count: unlabelled, total, limit: most });
  const absent = [...perLabel.keys()].filter((label) => perLabel.get(label) === 0);
  return { ok: true, counts: { labels: Object.fromEntries(perLabel), unlabelled, ambiguous, absent } };
}

/** `cup 12, mug 3`, short enough for an error. */
function shown(perLabel: ReadonlyMap<string, number>): string {
  const all = [...perLabel].map(([label, count]) => `${label} ${count}`);
  return all.length > 20 ? `${all.slice(0, 20).join(', ')}, …` : all.join(', ');
}

/** Things that do not stop a training but that its owner should know; one sentence each. */
export function advice(counts: LabelCounts): string[] {
  const lines: string[] = [];
  for (const label of counts.absent) lines.push(`No picture carries the label "${label}": the model will not know it.`);
  if (counts.ambiguous > 0) {
    lines.push(`${counts.ambiguous} pictures carry several of the labels and are left out.`);
  }
  const sizes = Object.values(counts.labels).filter((count) => count > 0);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  if (most > 3 * least)
    lines.push(`The most frequent label has ${most} pictures, the rarest ${least}: more of the rare ones would help.`);
  if (counts.unlabelled > 0)
    lines.push(`${counts.unlabelled} pictures carry none of the labels and make a class of their own.`);
  return lines;
}
