/** What evaluation.json says. */
import type { Evaluation, MultiLabelEvaluation, PictureReference } from '@platform/contract/evaluation';
import { round } from '@platform/trainer-engine/progress';
import { machine, versions } from '@platform/trainer-engine/versions';
import type { Delivered } from './deliver.ts';
import type { Sample } from './intake.ts';
import type { Learned, LearningPoint, Pupil, Stage } from './learn.ts';
import type { Measured } from './measure.ts';
import { labelReports, multiScoreOf, predictedOf } from './multi-score.ts';
import { best, classReports, confusionOf, scoreOf } from './score.ts';
import type { Judged } from './score.ts';

export type ClassifierEvaluation = Evaluation | MultiLabelEvaluation;

export interface Findings extends Pupil {
  learned: Learned;
  /** With any number of labels per picture. */
  thresholds: ReadonlyMap<Stage, readonly number[]> | undefined;
  delivered: { onnx: Delivered; tflite: Delivered | undefined };
  measured: Measured;
  advice: string[];
  /** From the start of the trainer. */
  seconds: number;
}

const shownWorst = 20;
const shownSkipped = 100;

export function evaluationOf(findings: Findings): ClassifierEvaluation {
  const { measured, learned, prepared, thresholds } = findings;
  const judged = measured.judged.get(learned.chosen) ?? [];
  if (thresholds) {
    const chosen = thresholds.get(learned.chosen) ?? [];
    const scoreAt = (stage: Stage): MultiLabelEvaluation['probe'] => {
      const of = measured.judged.get(stage);
      return of ? multiScoreOf(of, thresholds.get(stage) ?? []) : null;
    };
    return {
      ...headOf(findings),
      task: 'multi_label_classification',
      ...multiScoreOf(judged, chosen),
      per_class: labelReports(judged, chosen, prepared.labels),
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
    ...headOf(findings),
    task: 'single_label_classification',
    ...scoreOf(judged, prepared.labels),
    per_class: classReports(confusion, prepared.labels),
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

type Head = Omit<
  Evaluation,
  'task' | 'per_class' | 'confusion' | 'probe' | 'fine_tuned' | 'curve' | 'worst' | keyof Score
>;
type Score = ReturnType<typeof scoreOf>;

function headOf({
  training,
  device,
  recipe,
  prepared,
  learned,
  delivered,
  measured,
  backbone,
  ...rest
}: Findings): Head {
  const { labels, train, validation, test, skipped } = prepared;
  const model = { ...delivered.onnx, latency_ms: round(measured.medianMs), max_difference: measured.maxDifference };
  const tflite = delivered.tflite
    ? [{ ...delivered.tflite, latency_ms: null, max_difference: measured.tfliteDifference ?? null }]
    : [];
  return {
    format: 1,
    labels: [...labels],
    evaluated_on: test.length > 0 ? 'test' : 'validation',
    count: measured.heldOut.length,
    chosen: learned.chosen,
    pictures: { train: train.length, validation: validation.length, test: test.length, skipped: skipped.length },
    skipped: skipped
      .slice(0, shownSkipped)
      .map(({ line: { image_path, file_name }, reason }) => ({ image_path, file_name, reason })),
    seed: training.job.seed,
    side: recipe.side,
    seconds: { total: round(rest.seconds), ...learned.seconds, evaluation: round(measured.seconds) },
    model,
    files: [model, ...tflite],
    pretrained: { name: backbone.name, sha256: backbone.sha256 },
    versions: versions(),
    machine: machine(),
    device: { name: device.name, reason: device.reason },
    advice: rest.advice,
  };
}

function referenceTo({ line: { image_path, file_name, sha256, binary_data_id } }: Sample): PictureReference {
  return { image_path, file_name, sha256, ...(binary_data_id === undefined ? {} : { binary_data_id }) };
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
      ...referenceTo(sample),
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
    const predicted = predictedOf(judged[i]?.probabilities ?? new Float32Array(), thresholds);
    const differences = new Set(predicted).symmetricDifference(new Set(sample.classes)).size;
    return { sample, predicted, differences };
  });
  return wrong
    .filter(({ differences }) => differences > 0)
    .toSorted((a, b) => b.differences - a.differences)
    .slice(0, shownWorst)
    .map(({ sample, predicted }) => ({
      ...referenceTo(sample),
      labels: names(sample.classes),
      predicted: names(predicted),
    }));
}
