/** Builds the content of evaluation.json. */
import type {
  Calibration,
  Evaluation,
  MultiLabelEvaluation,
  NetworkChoice,
  UnlikeReport,
} from '@platform/contract/job/evaluation';
import { withIntervals } from '@platform/contract/job/confidence';
import { labelsAbove } from '@platform/contract/job/model-output';
import { round } from '@platform/trainer-engine/progress';
import { evaluationHead, referenceTo } from '@platform/trainer-engine/report';
import type { ReportInput } from '@platform/trainer-engine/report';
import { withScoreWarnings } from '@platform/trainer-engine/score-warnings';
import type { Sample } from './load-images.ts';
import type { Unlike } from './find-unlike.ts';
import type { TrainedModel, EpochResult, TrainingRun, Stage } from './train-model.ts';
import type { Measurements } from './measure.ts';
import { calibrationError, uncalibrated } from './calibration.ts';
import { labelReports, multiLabelScoreOf } from './multi-score.ts';
import { argmax, classReports, confusionOf, scoreOf } from './score.ts';
import type { EvaluatedImage } from './score.ts';

export type ClassifierEvaluation = Evaluation | MultiLabelEvaluation;

export interface EvaluationInput extends TrainingRun, Pick<ReportInput, 'exported' | 'int8' | 'advice' | 'seconds'> {
  trained: TrainedModel;
  /** Set for multi-label classification. */
  thresholds: ReadonlyMap<Stage, readonly number[]> | undefined;
  /** Undefined for multi-label classification. */
  unlike: Unlike | undefined;
  /** Recipes `auto` and `accurate` only. */
  networks?: NetworkChoice | undefined;
  measured: Measurements;
}

const maxWorst = 20;

export const buildEvaluation = (input: EvaluationInput): ClassifierEvaluation => withScoreWarnings(evaluationOf(input));

function evaluationOf(input: EvaluationInput): ClassifierEvaluation {
  const { measured, trained, prepared, thresholds, recipe, backbone } = input;
  const { networks } = input;
  const head = {
    ...evaluationHead({ ...input, side: recipe.side, pretrained: backbone }),
    ...(networks ? { networks } : {}),
  };
  const evaluated = measured.evaluated.get(trained.chosen) ?? [];
  const calibration = calibrationOf(evaluated, prepared.labels, trained);
  if (thresholds) {
    const chosen = thresholds.get(trained.chosen) ?? [];
    const scoreAt = (stage: Stage): MultiLabelEvaluation['probe'] => {
      const of = measured.evaluated.get(stage);
      return of ? multiLabelScoreOf(of, thresholds.get(stage) ?? []) : null;
    };
    return {
      ...head,
      calibration,
      task: 'multi_label_classification',
      ...multiLabelScoreOf(evaluated, chosen),
      per_class: labelReports(evaluated, chosen, prepared.labels).map(withIntervals),
      probe: scoreAt('probe'),
      fine_tuned: scoreAt('fine-tune'),
      curve: trained.curve.map((point) => ({
        ...curvePointOf(point),
        validation_micro_f1: point.validation?.shown ?? null,
      })),
      worst: worstLabelSets(measured.heldOut, evaluated, chosen, prepared.labels),
    };
  }
  const confusion = confusionOf(evaluated, prepared.labels.length);
  const scoreAt = (stage: Stage): Evaluation['probe'] => {
    const of = measured.evaluated.get(stage);
    return of ? scoreOf(of, prepared.labels) : null;
  };
  return {
    ...head,
    calibration,
    ...(input.unlike && { unlike: unlikeReportOf(input.unlike, measured) }),
    task: 'single_label_classification',
    ...scoreOf(evaluated, prepared.labels),
    per_class: classReports(confusion, prepared.labels).map(withIntervals),
    confusion,
    probe: scoreAt('probe'),
    fine_tuned: scoreAt('fine-tune'),
    curve: trained.curve.map((point) => ({
      ...curvePointOf(point),
      validation_accuracy: point.validation?.shown ?? null,
    })),
    worst: worstPredictions(measured.heldOut, evaluated, prepared.labels),
  };
}

function unlikeReportOf({ threshold, chosenOn, chosenBy }: Unlike, { unlike }: Measurements): UnlikeReport {
  const isAbove = (score: number): boolean => score > threshold;
  return {
    threshold,
    chosen_on: chosenOn,
    chosen_count: chosenBy.length,
    chosen_above: chosenBy.filter(isAbove).length,
    count: unlike.length,
    above: unlike.filter(isAbove).length,
  };
}

function calibrationOf(
  evaluated: readonly EvaluatedImage[],
  labels: readonly string[],
  { chosen, calibrations, objective: { output } }: Pick<TrainedModel, 'chosen' | 'calibrations' | 'objective'>,
): Calibration {
  const calibration = calibrations.get(chosen) ?? { temperature: 1 };
  const { temperature, offsets } = calibration;
  const before = uncalibrated(evaluated, output, calibration);
  return {
    temperature: round(temperature, 3),
    ...(offsets && { offsets: Array.from(offsets, (one) => round(one, 3)) }),
    error: round(calibrationError(evaluated, output), 4),
    error_before: round(calibrationError(before, output), 4),
    ...(offsets && { accuracy_before: scoreOf(before, labels).accuracy }),
  };
}

function curvePointOf({ epoch, stage, loss, validation, seconds }: EpochResult) {
  return { epoch, stage, loss, validation_loss: validation?.loss ?? null, seconds };
}

/** Wrong predictions, the most confident first. */
function worstPredictions(
  heldOut: readonly Sample[],
  evaluated: readonly EvaluatedImage[],
  labels: readonly string[],
): Evaluation['worst'] {
  const wrong: Evaluation['worst'] = [];
  for (const [i, sample] of heldOut.entries()) {
    const probabilities = evaluated[i]?.probabilities ?? new Float32Array();
    const predicted = argmax(probabilities);
    const [label = -1] = sample.classes;
    if (predicted === label) continue;
    wrong.push({
      ...referenceTo(sample.line),
      label: labels[label] ?? '',
      predicted: labels[predicted] ?? '',
      probability: round(probabilities[predicted] ?? 0, 4),
    });
  }
  return wrong.toSorted((a, b) => b.probability - a.probability).slice(0, maxWorst);
}

/** Images with a wrong label set, those with the most wrong or missing labels first. */
function worstLabelSets(
  heldOut: readonly Sample[],
  evaluated: readonly EvaluatedImage[],
  thresholds: readonly number[],
  labels: readonly string[],
): MultiLabelEvaluation['worst'] {
  const names = (classes: readonly number[]): string[] => classes.map((k) => labels[k] ?? '');
  const wrong = heldOut.map((sample, i) => {
    const predicted = labelsAbove(evaluated[i]?.probabilities ?? new Float32Array(), thresholds);
    const differences = new Set(predicted).symmetricDifference(new Set(sample.classes)).size;
    return { sample, predicted, differences };
  });
  return wrong
    .filter(({ differences }) => differences > 0)
    .toSorted((a, b) => b.differences - a.differences)
    .slice(0, maxWorst)
    .map(({ sample, predicted }) => ({
      ...referenceTo(sample.line),
      labels: names(sample.classes),
      predicted: names(predicted),
    }));
}
