/** What evaluation.json says. */
import type { Evaluation, MultiLabelEvaluation } from '@platform/contract/evaluation';
import { withIntervals } from '@platform/contract/confidence';
import { labelsAbove } from '@platform/contract/model-output';
import { round } from '@platform/trainer-engine/progress';
import type { ModelsOnDisk } from '@platform/trainer-engine/model-file';
import { headOf, referenceTo } from '@platform/trainer-engine/report';
import type { Sample } from './load-images.ts';
import type { Learned, LearningPoint, Pupil, Stage } from './train-model.ts';
import type { Measured } from './measure.ts';
import { labelReports, multiScoreOf } from './multi-score.ts';
import { best, classReports, confusionOf, scoreOf } from './score.ts';
import type { Judged } from './score.ts';

export type ClassifierEvaluation = Evaluation | MultiLabelEvaluation;

export interface Findings extends Pupil {
  learned: Learned;
  /** With any number of labels per picture. */
  thresholds: ReadonlyMap<Stage, readonly number[]> | undefined;
  delivered: ModelsOnDisk;
  measured: Measured;
  advice: string[];
  /** From the start of the trainer. */
  seconds: number;
}

const shownWorst = 20;

export function evaluationOf(findings: Findings): ClassifierEvaluation {
  const { measured, learned, prepared, thresholds, recipe, backbone } = findings;
  const head = headOf({ ...findings, side: recipe.side, pretrained: backbone });
  const judged = measured.judged.get(learned.chosen) ?? [];
  if (thresholds) {
    const chosen = thresholds.get(learned.chosen) ?? [];
    const scoreAt = (stage: Stage): MultiLabelEvaluation['probe'] => {
      const of = measured.judged.get(stage);
      return of ? multiScoreOf(of, thresholds.get(stage) ?? []) : null;
    };
    return {
      ...head,
      task: 'multi_label_classification',
      ...multiScoreOf(judged, chosen),
      per_class: labelReports(judged, chosen, prepared.labels).map(withIntervals),
      probe: scoreAt('probe'),
      fine_tuned: scoreAt('fine-tune'),
      curve: learned.curve.map((point) => ({
        ...courseOf(point),
        validation_micro_f1: point.validation?.shown ?? null,
      })),
      worst: worstSets(measured.heldOut, judged, chosen, prepared.labels),
    };
  }
  const confusion = confusionOf(judged, prepared.labels.length);
  const scoreAt = (stage: Stage): Evaluation['probe'] => {
    const of = measured.judged.get(stage);
    return of ? scoreOf(of, prepared.labels) : null;
  };
  return {
    ...head,
    task: 'single_label_classification',
    ...scoreOf(judged, prepared.labels),
    per_class: classReports(confusion, prepared.labels).map(withIntervals),
    confusion,
    probe: scoreAt('probe'),
    fine_tuned: scoreAt('fine-tune'),
    curve: learned.curve.map((point) => ({
      ...courseOf(point),
      validation_accuracy: point.validation?.shown ?? null,
    })),
    worst: worstOf(measured.heldOut, judged, prepared.labels),
  };
}

function courseOf({ epoch, stage, loss, validation, seconds }: LearningPoint) {
  return { epoch, stage, loss, validation_loss: validation?.loss ?? null, seconds };
}

/** Wrong predictions, the surest first. */
function worstOf(
  heldOut: readonly Sample[],
  judged: readonly Judged[],
  labels: readonly string[],
): Evaluation['worst'] {
  const wrong: Evaluation['worst'] = [];
  for (const [i, sample] of heldOut.entries()) {
    const probabilities = judged[i]?.probabilities ?? new Float32Array();
    const predicted = best(probabilities);
    const [label = -1] = sample.classes;
    if (predicted === label) continue;
    wrong.push({
      ...referenceTo(sample.line),
      label: labels[label] ?? '',
      predicted: labels[predicted] ?? '',
      probability: round(probabilities[predicted] ?? 0, 4),
    });
  }
  return wrong.toSorted((a, b) => b.probability - a.probability).slice(0, shownWorst);
}

/** Pictures whose set of labels is wrong, those with the most wrong or missing labels first. */
function worstSets(
  heldOut: readonly Sample[],
  judged: readonly Judged[],
  thresholds: readonly number[],
  labels: readonly string[],
): MultiLabelEvaluation['worst'] {
  const names = (classes: readonly number[]): string[] => classes.map((k) => labels[k] ?? '');
  const wrong = heldOut.map((sample, i) => {
    const predicted = labelsAbove(judged[i]?.probabilities ?? new Float32Array(), thresholds);
    const differences = new Set(predicted).symmetricDifference(new Set(sample.classes)).size;
    return { sample, predicted, differences };
  });
  return wrong
    .filter(({ differences }) => differences > 0)
    .toSorted((a, b) => b.differences - a.differences)
    .slice(0, shownWorst)
    .map(({ sample, predicted }) => ({
      ...referenceTo(sample.line),
      labels: names(sample.classes),
      predicted: names(predicted),
    }));
}
