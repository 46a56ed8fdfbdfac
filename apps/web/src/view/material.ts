import { ambiguousAdvice, type BrokenRule, brokenRules, datasetAdvice } from '@platform/contract/dataset-rules';
import { PlatformError } from '@platform/contract/errors';
import { type BuiltInKind, modelKinds } from '@platform/contract/model-kinds';
import { formatCount } from './quantities.ts';
import { isolateText } from './user-text.ts';

/** What a dataset offers for one type of model. */
export interface Material {
  images: number;
  /** Images with the label; for object detection with a box of it. */
  labels: readonly { label: string; images: number }[];
}

export interface Judgement {
  /** Why the server would refuse it. */
  problems: readonly string[];
  /** What would make the model better. */
  advice: readonly string[];
}

/**
 * What is missing before a training on the chosen labels can begin, and only then what would make it better. The server judges
 * again; it counts boxes, and this page images that have some.
 *
 * @param labelled - images with at least one of the chosen labels; undefined while that is not known.
 */
export function judge(
  kind: BuiltInKind,
  material: Material,
  chosen: ReadonlySet<string>,
  labelled: number | undefined,
): Judgement {
  const { images } = material;
  const taken = material.labels.filter(({ label }) => chosen.has(label));
  const counts = {
    images,
    labels: Object.fromEntries(taken.map((one) => [one.label, one.images])),
    unlabelled: labelled === undefined || taken.length === 0 ? 0 : images - labelled,
    ambiguous: 0,
    absent: [],
  };
  const broken = brokenRules(kind, counts);
  // An image may have many boxes: only the server can refuse for too few of them.
  const fewBoxes = broken.filter(({ code }) => code === 'TOO_FEW_BOXES');
  const problems = problemLines(
    kind,
    broken.filter(({ code }) => code !== 'TOO_FEW_BOXES'),
  );
  const [few] = fewBoxes;
  const boxes = few ? [`Each label needs ${few.data.limit} boxes. Few images have one of: ${names(fewBoxes)}.`] : [];
  if (problems.length > 0) return { problems, advice: boxes };
  const advice = [...boxes, ...datasetAdvice(kind, counts, 'image')];
  const labels = taken.reduce((sum, one) => sum + one.images, 0);
  if (modelKinds[kind].labelsPerImage === 'one' && labelled !== undefined && labels > labelled)
    advice.push(ambiguousAdvice(undefined));
  return { problems, advice };
}

const names = (rules: readonly BrokenRule[]): string =>
  rules.map(({ data }) => `${isolateText(data.label ?? '')} (${data.count})`).join(', ');

/** In words of this page, which knows what the user can do here; any other rule in those of the error table. */
function problemLines(kind: BuiltInKind, broken: readonly BrokenRule[]): string[] {
  const few = broken.filter(({ code }) => code === 'TOO_FEW_PICTURES');
  return broken.flatMap((rule) => {
    const { code, data } = rule;
    const { count = 0, limit = 0 } = data;
    switch (code) {
      case 'TOO_FEW_LABELS':
        return [`Choose at least ${formatCount(limit, 'label')}.`];
      case 'TOO_FEW_PICTURES':
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
