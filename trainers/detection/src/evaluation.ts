/** Builds the content of evaluation.json. */
import type {
  DetectionEvaluation,
  DetectionMistakes,
  DetectionScore,
  FoundBox,
  NetworkChoice,
} from '@platform/contract/job/evaluation';
import { withIntervals } from '@platform/contract/job/confidence';
import { boxesAbove } from '@platform/contract/job/model-output';
import { round } from '@platform/trainer-engine/progress';
import { evaluationHead, referenceTo } from '@platform/trainer-engine/report';
import type { ReportInput } from '@platform/trainer-engine/report';
import { withScoreWarnings } from '@platform/trainer-engine/score-warnings';
import { averagePrecisions, cocoThresholds, mean, meanAveragePrecision, rankDetections } from './average-precision.ts';
import type { EvaluatedImage, RankedDetection } from './average-precision.ts';
import { iou } from './boxes.ts';
import type { LabelledBox } from './boxes.ts';
import { countBoxes } from './dataset.ts';
import { f1Of, fallbackThreshold, minIou } from './thresholds.ts';
import type { TrainedModel } from './train-model.ts';
import type { TrainingRun } from './training-run.ts';
import type { Measurements } from './measure.ts';
import type { Sample } from './split.ts';

export interface EvaluationInput
  extends Omit<TrainingRun, 'detector'>, Pick<ReportInput, 'exported' | 'int8' | 'advice' | 'seconds'> {
  trained: TrainedModel;
  thresholds: readonly number[];
  measured: Measurements;
  networks: NetworkChoice | undefined;
}

const maxWorst = 20;

export function scoreOf(evaluated: readonly EvaluatedImage[], labels: number): DetectionScore {
  const at = (least: number): number => meanAveragePrecision(evaluated, labels, least);
  return { map50: at(0.5), map75: at(0.75), map: mean(cocoThresholds.map(at)) };
}

function countAt(order: readonly RankedDetection[], threshold: number): { found: number; hits: number } {
  const kept = order.filter(({ score }) => score >= threshold);
  return { found: kept.length, hits: kept.filter(({ isRight }) => isRight).length };
}

export function labelReports(
  evaluated: readonly EvaluatedImage[],
  thresholds: readonly number[],
  labels: readonly string[],
): DetectionEvaluation['per_class'] {
  const ap50 = averagePrecisions(evaluated, labels.length, 0.5);
  const ap75 = averagePrecisions(evaluated, labels.length, 0.75);
  return labels.map((label, k) => {
    const threshold = thresholds[k] ?? fallbackThreshold;
    const { order, truths } = rankDetections(evaluated, k, minIou);
    const { found, hits } = countAt(order, threshold);
    return {
      label,
      precision: found === 0 ? 0 : hits / found,
      recall: truths === 0 ? 0 : hits / truths,
      f1: f1Of(hits, found, truths),
      support: truths,
      ap50: ap50[k] ?? 0,
      ap75: ap75[k] ?? 0,
      threshold,
    };
  });
}

const boxIn = (box: LabelledBox, labels: readonly string[]): Omit<FoundBox, 'score'> => ({
  label: labels[box.label] ?? '',
  x_min_normalized: round(box.left, 4),
  y_min_normalized: round(box.top, 4),
  x_max_normalized: round(box.right, 4),
  y_max_normalized: round(box.bottom, 4),
});

/** The images with the most missed and wrong boxes at the thresholds, worst first. */
export function worstImages(
  heldOut: readonly Sample[],
  evaluated: readonly EvaluatedImage[],
  thresholds: readonly number[],
  labels: readonly string[],
): DetectionMistakes[] {
  const mistakes: DetectionMistakes[] = [];
  for (const [i, { line }] of heldOut.entries()) {
    const { truth = [], found = [] } = evaluated[i] ?? {};
    const left = new Set(truth);
    const wrong: FoundBox[] = [];
    for (const one of boxesAbove(found, thresholds)) {
      const hit = [...left].find((box) => box.label === one.label && iou(box, one) >= minIou);
      if (hit) left.delete(hit);
      else wrong.push({ ...boxIn(one, labels), score: round(one.score, 4) });
    }
    const missed = [...left].map((box) => boxIn(box, labels));
    if (missed.length + wrong.length === 0) continue;
    mistakes.push({ ...referenceTo(line), missed, wrong });
  }
  const count = ({ missed, wrong }: DetectionMistakes): number => missed.length + wrong.length;
  const surest = ({ wrong }: DetectionMistakes): number => wrong[0]?.score ?? 0;
  return mistakes.toSorted((a, b) => count(b) - count(a) || surest(b) - surest(a)).slice(0, maxWorst);
}

export function buildEvaluation(input: EvaluationInput): DetectionEvaluation {
  const { recipe, prepared, trained, measured, thresholds, networks } = input;
  const { labels, train, validation, test } = prepared;
  const evaluated = measured.evaluated.get(trained.chosen) ?? [];
  const scoreAt = (stage: 'probe' | 'fine-tune'): DetectionScore | null => {
    const of = measured.evaluated.get(stage);
    return of ? scoreOf(of, labels.length) : null;
  };
  return withScoreWarnings({
    ...evaluationHead({ ...input, side: recipe.side, pretrained: trained.detector }),
    ...(networks ? { networks } : {}),
    task: 'object_detection',
    ...scoreOf(evaluated, labels.length),
    per_class: labelReports(evaluated, thresholds, labels).map(withIntervals),
    probe: scoreAt('probe'),
    fine_tuned: scoreAt('fine-tune'),
    curve: trained.curve.map(({ epoch, stage, loss, validation: at, seconds }) => ({
      epoch,
      stage,
      loss,
      validation_loss: at?.loss ?? null,
      validation_map50: at?.map50 ?? null,
      seconds,
    })),
    worst: worstImages(measured.heldOut, evaluated, thresholds, labels),
    boxes: { train: countBoxes(train), validation: countBoxes(validation), test: countBoxes(test) },
  });
}
