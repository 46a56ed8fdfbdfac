/** Reasons why a score says less than it seems to. */
import type { AnyEvaluation } from '@platform/contract/job/evaluation';
import { heldOutSentences } from './held-out.ts';

type Measured = Pick<AnyEvaluation, 'count' | 'evaluated_on' | 'held_out' | 'per_class' | 'task'>;

/** One sentence each, for model card, evaluation and log; the most important first. */
export const scoreWarnings = (evaluation: Measured): string[] => [
  ...(evaluation.held_out ? heldOutSentences(evaluation.held_out, evaluation.count).warnings : []),
  ...unmeasuredLabels(evaluation),
  ...dominantLabel(evaluation),
  ...(evaluation.evaluated_on === 'validation'
    ? ['There are no test images: the images of the score also chose the weights, so the score is too high.']
    : []),
];

/** Puts the warnings before other advice. */
export const withScoreWarnings = <E extends Measured & { advice: string[] }>(evaluation: E): E => ({
  ...evaluation,
  advice: [...scoreWarnings(evaluation), ...evaluation.advice],
});

const maxNames = 10;

function unmeasuredLabels({ per_class: reports, task }: Measured): string[] {
  const labels = reports.filter(({ support }) => support === 0).map(({ label }) => `"${label}"`);
  if (labels.length === 0) return [];
  const names = [...labels.slice(0, maxNames), ...(labels.length > maxNames ? ['…'] : [])].join(', ');
  const shows = task === 'object_detection' ? 'has a box with' : 'shows';
  return [`No held-out image ${shows} ${names}: the score says nothing about ${labels.length === 1 ? 'it' : 'them'}.`];
}

/** Share of the held-out images from which on one label decides the accuracy. */
const dominantShare = 0.75;

/** Accuracy is high for a model that knows one label only, if nearly all images show that label. */
function dominantLabel({ per_class: reports, task, count }: Measured): string[] {
  const [most] = reports.toSorted((a, b) => b.support - a.support);
  if (task !== 'single_label_classification' || !most || most.support < dominantShare * count) return [];
  return [
    `${most.support} of ${count} held-out images show "${most.label}": a model that always answers "${most.label}" has the same share right. Compare the recall of each label.`,
  ];
}
