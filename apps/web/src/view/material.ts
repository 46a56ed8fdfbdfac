import { ModelType } from '@platform/contract/gen/platform/app/mltraining/v1/ml_training_pb';
import { counted } from './quantities.ts';
import { isolated } from './user-text.ts';

/** What a dataset offers for one type of model. */
export interface Material {
  pictures: number;
  /** Pictures with the label; for object detection with a box of it. */
  labels: readonly { label: string; pictures: number }[];
}

export interface Judgement {
  /** Why the server would refuse it. */
  problems: readonly string[];
  /** What would make the model better. */
  advice: readonly string[];
}

const minPerLabel = 10;
const minForDetection = 15;
const maxUnlabelledShare = 0.2;

export const minLabels = (type: ModelType): number => (type === ModelType.OBJECT_DETECTION ? 1 : 2);

const names = (of: readonly { label: string; pictures: number }[]): string =>
  of.map(({ label, pictures }) => `${isolated(label)} (${pictures})`).join(', ');

/**
 * What is missing before a training on the chosen labels can begin. The server judges again; boxes are counted there, here only
 * pictures that have some.
 *
 * @param labelled - pictures with at least one of the chosen labels; undefined while that is not known.
 */
export function judge(
  type: ModelType,
  material: Material,
  chosen: ReadonlySet<string>,
  labelled: number | undefined,
): Judgement {
  const isDetection = type === ModelType.OBJECT_DETECTION;
  const taken = material.labels.filter(({ label }) => chosen.has(label));
  const problems: string[] = [];
  const advice: string[] = [];
  const fewest = minLabels(type);
  if (taken.length < fewest) problems.push(`Choose at least ${counted(fewest, 'label')}.`);
  const few = taken.filter((one) => one.pictures < minPerLabel);
  if (few.length > 0) {
    if (isDetection) advice.push(`Each label needs ${minPerLabel} boxes. Few pictures have one of: ${names(few)}.`);
    else
      problems.push(
        `Each label needs ${minPerLabel} pictures. Too few: ${names(few)}. Add some, or leave the label out.`,
      );
  }
  if (isDetection && material.pictures < minForDetection)
    problems.push(`Object detection needs ${minForDetection} pictures; there are ${material.pictures}.`);
  const total = taken.reduce((sum, one) => sum + one.pictures, 0);
  if (labelled !== undefined && taken.length > 0) {
    const without = material.pictures - labelled;
    const most = Math.floor(maxUnlabelledShare * (total + without));
    const what = isDetection ? 'have no box with these labels' : 'carry none of these labels';
    if (without > most)
      problems.push(`${counted(without, 'picture')} ${what}; at most ${most} may. Label them, or take them out.`);
    else if (without > 0)
      advice.push(
        `${counted(without, 'picture')} ${what} and ${isDetection ? 'serve as background' : 'make a class of their own'}.`,
      );
    if (type === ModelType.SINGLE_LABEL_CLASSIFICATION && total > labelled)
      advice.push('Some pictures carry several of these labels: they are left out. A multi-label model can use them.');
  }
  const sizes = taken.map((one) => one.pictures);
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  if (taken.length > 1 && most > 3 * least)
    advice.push(
      `The most frequent label has ${counted(most, 'picture')}, the rarest ${least}: more of the rare ones would help.`,
    );
  return { problems, advice };
}
