import type { JsonObject } from '@bufbuild/protobuf';
import type { ClassReport, CurvePoint, Evaluation } from '@platform/contract/evaluation';

/** What a page reads of an evaluation. Trainers of other versions may leave things out: then the page does too. */
export interface EvaluationView {
  accuracy: number;
  macroF1: number | undefined;
  count: number;
  heldOut: 'test' | 'validation';
  labels: readonly string[];
  /** Rows: true class, columns: predicted class. */
  heat: readonly HeatRow[];
  classes: readonly ClassReport[];
  curve: readonly CurvePoint[];
  chosen: string | undefined;
  scores: readonly { name: string; accuracy: number; macroF1: number }[];
  pictures: { train: number; validation: number; test: number; skipped: number } | undefined;
  skipped: Evaluation['skipped'];
  worst: Evaluation['worst'];
  advice: readonly string[];
  side: number | undefined;
  seconds: number | undefined;
  model: Partial<Evaluation['model']>;
  pretrained: string | undefined;
}

export interface HeatCell {
  label: string;
  count: number;
  /** Share of its row, 0..1. */
  share: number;
  isRight: boolean;
}
export interface HeatRow {
  label: string;
  support: number;
  cells: readonly HeatCell[];
}

function heatOf(labels: readonly string[], confusion: readonly (readonly number[])[]): HeatRow[] {
  return labels.map((label, row) => {
    const counts = labels.map((_, column) => confusion[row]?.[column] ?? 0);
    const support = counts.reduce((sum, count) => sum + count, 0);
    const cells = counts.map((count, column) => ({
      label: labels[column] ?? '',
      count,
      share: support === 0 ? 0 : count / support,
      isRight: row === column,
    }));
    return { label, support, cells };
  });
}

/** Undefined for what is no evaluation of a classifier. */
export function evaluationView(json: JsonObject | undefined): EvaluationView | undefined {
  if (json === undefined || typeof json['accuracy'] !== 'number') return undefined;
  const from = json as unknown as Partial<Evaluation>;
  const labels = from.labels ?? [];
  const scores = [
    { name: 'Probe', score: from.probe },
    { name: 'Fine-tuned', score: from.fine_tuned },
  ].flatMap(({ name, score }) => (score ? [{ name, accuracy: score.accuracy, macroF1: score.macro_f1 }] : []));
  return {
    accuracy: json['accuracy'],
    macroF1: from.macro_f1,
    count: from.count ?? 0,
    heldOut: from.evaluated_on ?? 'test',
    labels,
    heat: heatOf(labels, from.confusion ?? []),
    classes: from.per_class ?? [],
    curve: from.curve ?? [],
    chosen: from.chosen,
    scores,
    pictures: from.pictures,
    skipped: from.skipped ?? [],
    worst: from.worst ?? [],
    advice: from.advice ?? [],
    side: from.side,
    seconds: from.seconds?.total,
    model: from.model ?? {},
    pretrained: from.pretrained?.name,
  };
}
