import type { Evaluation, Prediction } from '@platform/contract/evaluation';
import type { JobSpec } from '@platform/contract/job';
import type { Delivered } from './deliver.ts';
import type { Sample } from './intake.ts';
import type { Learned } from './learn.ts';
import type { Prepared } from './prepare.ts';
import type { Backbone } from '@platform/trainer-engine/pretrained/mobilenet';
import { round } from '@platform/trainer-engine/progress';
import type { Recipe } from './recipe.ts';
import { best, classReports, confusionOf, scoreOf } from './score.ts';
import type { Judged } from './score.ts';
import type { Measured } from './train.ts';
import { machine, versions } from '@platform/trainer-engine/versions';

export interface Findings extends Measured {
  job: JobSpec;
  recipe: Recipe;
  prepared: Prepared;
  learned: Learned;
  delivered: { onnx: Delivered; tflite: Delivered | undefined };
  backbone: Backbone;
  advice: string[];
  /** From the start of the trainer. */
  seconds: number;
}

const shownWorst = 20;
const shownSkipped = 100;

export function evaluationOf(findings: Findings): Evaluation {
  const { job, recipe, prepared, learned, delivered, backbone, heldOut, probabilities, scores } = findings;
  const { labels, train, validation, test, skipped } = prepared;
  const judged = heldOut.map(({ label }, i) => ({ label, probabilities: probabilities[i] ?? new Float32Array() }));
  const confusion = confusionOf(judged, labels.length);
  const model = { ...delivered.onnx, latency_ms: round(findings.medianMs), max_difference: findings.maxDifference };
  const tflite = delivered.tflite
    ? [{ ...delivered.tflite, latency_ms: null, max_difference: findings.tfliteDifference ?? null }]
    : [];
  return {
    format: 1,
    task: 'single_label_classification',
    labels: [...labels],
    evaluated_on: test.length > 0 ? 'test' : 'validation',
    count: heldOut.length,
    ...scoreOf(judged, labels),
    per_class: classReports(confusion, labels),
    confusion,
    chosen: learned.chosen,
    probe: scores.get('probe') ?? null,
    fine_tuned: scores.get('fine-tune') ?? null,
    curve: [...learned.curve],
    worst: worstOf(heldOut, judged, labels),
    pictures: { train: train.length, validation: validation.length, test: test.length, skipped: skipped.length },
    skipped: skipped
      .slice(0, shownSkipped)
      .map(({ line: { image_path, file_name }, reason }) => ({ image_path, file_name, reason })),
    seed: job.seed,
    side: recipe.side,
    seconds: {
      total: round(findings.seconds),
      ...learned.seconds,
      evaluation: round(findings.evaluationSeconds),
    },
    model,
    files: [model, ...tflite],
    pretrained: { name: backbone.name, sha256: backbone.sha256 },
    versions: versions(),
    machine: machine(),
    device: { name: 'cpu', reason: 'No other was asked for.' },
    advice: findings.advice,
  };
}

/** Wrong predictions, the surest first. */
function worstOf(heldOut: readonly Sample[], judged: readonly Judged[], labels: readonly string[]): Prediction[] {
  const wrong: Prediction[] = [];
  for (const [i, { line, label }] of heldOut.entries()) {
    const probabilities = judged[i]?.probabilities ?? new Float32Array();
    const predicted = best(probabilities);
    if (predicted === label) continue;
    const { image_path, file_name, sha256, binary_data_id } = line;
    wrong.push({
      image_path,
      file_name,
      sha256,
      ...(binary_data_id === undefined ? {} : { binary_data_id }),
      label: labels[label] ?? '',
      predicted: labels[predicted] ?? '',
      probability: round(probabilities[predicted] ?? 0, 4),
    });
  }
  return wrong.toSorted((a, b) => b.probability - a.probability).slice(0, shownWorst);
}
