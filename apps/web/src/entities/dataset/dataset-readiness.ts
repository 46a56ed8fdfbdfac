import { ambiguousAdvice, type BrokenRule, brokenRules, datasetAdvice } from '@platform/contract/job/dataset-rules';
import { PlatformError } from '@platform/contract/errors/errors';
import { type BuiltInKind, modelKinds } from '@platform/contract/job/model-kinds';
import { formatCount } from '../../ui/quantities.ts';
import { isolateText } from '../../ui/user-text.ts';

/** The images and labels of a dataset that one type of model can use. */
export interface LabelCounts {
  images: number;
  /** Images with the label; for object detection, images with a box of it. */
  labels: readonly { label: string; images: number }[];
}

export interface Readiness {
  /** Reasons for which the server would refuse the training. */
  problems: readonly string[];
  /** Suggestions that would improve the model. */
  advice: readonly string[];
}

/**
 * Returns the problems that prevent a training on the chosen labels, and suggestions to improve the model. If there are
 * problems, only suggestions about boxes follow. The server checks again: it counts boxes, while this page counts
 * images with boxes.
 * @param labelled - images with at least one of the chosen labels; undefined while unknown.
 */
export function assessReadiness(
  kind: BuiltInKind,
  { images, labels }: LabelCounts,
  chosen: ReadonlySet<string>,
  labelled: number | undefined,
): Readiness {
  const taken = labels.filter(({ label }) => chosen.has(label));
  const counts = {
    images,
    labels: Object.fromEntries(taken.map((one) => [one.label, one.images])),
    unlabelled: labelled === undefined || taken.length === 0 ? 0 : images - labelled,
    ambiguous: 0,
    absent: [],
  };
  const broken = brokenRules(kind, counts);
  // An image may have many boxes: only the server can refuse a training with too few boxes.
  const fewBoxes = broken.filter(({ code }) => code === 'TOO_FEW_BOXES');
  const problems = problemLines(
    kind,
    broken.filter(({ code }) => code !== 'TOO_FEW_BOXES'),
    labels.length,
  );
  const [few] = fewBoxes;
  const boxes = few ? [`Each label needs ${few.data.limit} boxes. Few images have one of: ${names(fewBoxes)}.`] : [];
  if (problems.length > 0) return { problems, advice: boxes };
  const advice = [...boxes, ...datasetAdvice(kind, counts, 'image')];
  const uses = taken.reduce((sum, one) => sum + one.images, 0);
  if (modelKinds[kind].labelsPerImage === 'one' && labelled !== undefined && uses > labelled)
    advice.push(ambiguousAdvice(undefined));
  return { problems, advice };
}

const names = (rules: readonly BrokenRule[]): string =>
  rules.map(({ data }) => `${isolateText(data.label ?? '')} (${data.count})`).join(', ');

/** Fewer labels than a model needs: either few are chosen, or the images have no others. */
function fewLabels(kind: BuiltInKind, limit: number, available: number): string {
  if (available >= limit) return `Choose at least ${formatCount(limit, 'label')}.`;
  if (modelKinds[kind].labelSource === 'boxes') return 'No image has a box yet: draw some on the images.';
  return available === 0
    ? `No image has a label yet: a model needs at least ${formatCount(limit, 'label')}.`
    : `The images have ${formatCount(available, 'label')}; a model needs at least ${limit}. Label images of something else, too.`;
}

/**
 * Uses texts that name this page's actions, and the error table's text for any other rule.
 *
 * @param available - labels that the images have, chosen or not.
 */
function problemLines(kind: BuiltInKind, broken: readonly BrokenRule[], available: number): string[] {
  const few = broken.filter(({ code }) => code === 'TOO_FEW_IMAGES');
  return broken.flatMap((rule) => {
    const { code, data } = rule;
    const { count = 0, limit = 0 } = data;
    switch (code) {
      case 'TOO_FEW_LABELS':
        return [fewLabels(kind, limit, available)];
      case 'TOO_FEW_IMAGES':
        return rule === few[0]
          ? [`Each label needs ${limit} images. Too few: ${names(few)}. Add some, or leave the label out.`]
          : [];
      case 'DATASET_TOO_SMALL':
        return [`${modelKinds[kind].title} needs ${limit} images; there are ${count}.`];
      case 'TOO_MANY_UNLABELED': {
        const what =
          modelKinds[kind].labelSource === 'boxes' ? 'have no box with these labels' : 'carry none of these labels';
        return [`${formatCount(count, 'image')} ${what}; at most ${limit} may. Label them, or take them out.`];
      }
      default:
        return [new PlatformError(code, data).what];
    }
  });
}
