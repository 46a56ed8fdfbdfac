/** What the split of a dataset means for a training: what cannot be trained, and labels that no score covers. */
import type { ErrorCode, ErrorData } from '@platform/contract/errors/errors';
import { type JobKind, type Split, splits } from '@platform/contract/job/job';
import { modelKind } from '@platform/contract/job/model-kinds';
import { type Example, isAmbiguous } from './dataset-rules.ts';
import { unitsOf } from './dataset-split.ts';

interface LabelSplit {
  readonly label: string;
  readonly images: Readonly<Record<Split, number>>;
  /** Groups, or different files, of its images. */
  readonly units: number;
}

/** Images without a label; they are a class of a classifier. */
const unlabelled = '';

interface CheckedSplit {
  readonly labels: readonly LabelSplit[];
  /** Images per split, without those that the trainer leaves out. */
  readonly images: Readonly<Record<Split, number>>;
  /** The same for images with one of the labels. */
  readonly labelled: Readonly<Record<Split, number>>;
  /** Labels of each unit. */
  readonly units: readonly ReadonlySet<string>[];
  readonly isGrouped: boolean;
}

const none = (): Record<Split, number> => ({ train: 0, validation: 0, test: 0 });

function checkedSplit(kind: JobKind, examples: readonly Example[], assigned: readonly Split[]): CheckedSplit {
  const names = unitsOf(examples);
  const byLabel = new Map<string, { images: Record<Split, number>; units: Set<string> }>();
  const byUnit = new Map<string, Set<string>>();
  const [images, labelled] = [none(), none()];
  for (const [i, { labels }] of examples.entries()) {
    if (isAmbiguous(kind, { labels })) continue;
    const [split, unit] = [assigned[i] ?? 'train', names[i] ?? ''];
    images[split]++;
    if (labels.length > 0) labelled[split]++;
    const ofUnit = byUnit.get(unit) ?? new Set();
    byUnit.set(unit, ofUnit);
    for (const label of labels.length > 0 ? labels : [unlabelled]) {
      const found = byLabel.get(label) ?? { images: none(), units: new Set() };
      byLabel.set(label, found);
      found.images[split]++;
      found.units.add(unit);
      ofUnit.add(label);
    }
  }
  return {
    labels: [...byLabel]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([label, one]) => ({ label, images: one.images, units: one.units.size })),
    images,
    labelled,
    units: [...byUnit.values()],
    isGrouped: examples.some(({ group }) => group !== undefined),
  };
}

/**
 * Why a built-in trainer would refuse this split. The counts per label are known to suffice.
 *
 * The limits are those of the trainers: `requireEnough` and `requireSplit` in `trainers`.
 */
export function splitProblem(
  kind: JobKind,
  examples: readonly Example[],
  assigned: readonly Split[],
): { code: ErrorCode; data: ErrorData } | undefined {
  const facts = modelKind(kind);
  if (!facts) return undefined;
  const found = checkedSplit(kind, examples, assigned);
  const isDetection = facts.labelSource === 'boxes';
  for (const { label, images } of found.labels) {
    if (label === unlabelled) continue;
    const { train, validation, test } = images;
    const code = isDetection ? 'TOO_FEW_BOXES' : 'TOO_FEW_IMAGES';
    const others = { 'are for validation': validation, 'are in the test': test };
    const reasons = Object.entries(others).filter(([, count]) => count > 0);
    const problem = reasons.map(([reason, count]) => `${count} ${reason}`).join(', ');
    const limit = isDetection ? 1 : 2;
    if (train < limit) return { code, data: { label, count: train, limit, problem } };
    if (!isDetection && train + validation < 3)
      return { code, data: { label, count: train + validation, limit: 3, problem: `${test} are in the test` } };
  }
  return nothingHeldOut(found, isDetection);
}

function nothingHeldOut(found: CheckedSplit, isDetection: boolean): ReturnType<typeof splitProblem> {
  const heldOut = splits.find((split) => split !== 'train' && found.images[split] > 0);
  const tested = found.images.test > 0 ? 'test' : heldOut;
  if (tested && (!isDetection || found.labelled[tested] > 0)) return undefined;
  if (tested) {
    const problem = `its ${found.images[tested]} held-out images have no box of these labels`;
    return { code: 'NOTHING_HELD_OUT', data: { problem } };
  }
  // The trainer takes validation images from the training images, if every label keeps some.
  const least = isDetection ? 2 : 3;
  const divisible = new Set(found.labels.filter(({ units }) => units >= least).map(({ label }) => label));
  if (isDetection) divisible.delete(unlabelled);
  if (found.units.some((labels) => labels.isSubsetOf(divisible))) return undefined;
  const what = found.isGrouped ? 'groups' : 'different images';
  return { code: 'NOTHING_HELD_OUT', data: { problem: `each label has fewer than ${least} ${what}` } };
}

export interface GroupCounts {
  readonly groups: number;
  readonly ungroupedImages: number;
}
export function countGroups(examples: readonly Example[]): GroupCounts {
  const groups = new Set(examples.flatMap(({ group }) => group ?? []));
  return { groups: groups.size, ungroupedImages: examples.filter(({ group }) => group === undefined).length };
}

/** What `group:` tags leave open, for users: images of one object may then be in training and test. */
export function groupAdvice({ groups, ungroupedImages }: GroupCounts): string[] {
  if (groups === 0 || ungroupedImages === 0) return [];
  const images = `${ungroupedImages} ${ungroupedImages === 1 ? 'image has' : 'images have'} no group: tag`;
  const only = groups === 1 ? 'There is one group, whose images stay in one split. ' : '';
  return [`${only}${images} and ${ungroupedImages === 1 ? 'is' : 'are'} split by image.`];
}

/** Labels that no test image shows, for users; one sentence each. For scripts only if groups are the reason. */
export function splitAdvice(kind: JobKind, examples: readonly Example[], assigned: readonly Split[]): string[] {
  const found = checkedSplit(kind, examples, assigned);
  if (modelKind(kind) === undefined && (!found.isGrouped || found.images.test === 0)) return [];
  return found.labels
    .filter(({ label, images }) => label !== unlabelled && images.test === 0)
    .slice(0, mostAdvice)
    .map(({ label, units }) => {
      const nothing = `No image of "${label}" is in the test:`;
      if (units >= minUnits) {
        return `${nothing} other images were chosen for it. The score says nothing about this label; tag some of its images split:test, too.`;
      }
      const count = found.isGrouped
        ? `its images are in ${units} ${units === 1 ? 'group' : 'groups'}, and a group stays`
        : `its images are ${units} different ${units === 1 ? 'file' : 'files'}, and equal files stay`;
      const others = found.isGrouped ? 'images of other groups' : 'other images';
      return `${nothing} ${count} in one split. The score says nothing about this label; add ${others}.`;
    });
}
const mostAdvice = 10;
/** With fewer units, all images of a label are for training. */
const minUnits = 3;
