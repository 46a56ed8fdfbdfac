import type { JsonObject } from '@bufbuild/protobuf';
import type {
  AnyEvaluation,
  DetectionEvaluation,
  Evaluation,
  FoundBox,
  MultiLabelEvaluation,
} from '@platform/contract/job/evaluation';
import { classFigures, classText, scoreText } from '@platform/contract/job/confidence';
import type { ClassFigure } from '@platform/contract/job/confidence';
import { UNKNOWN_LABEL } from '@platform/contract/job/job';
import { crossValidationText } from '@platform/contract/job/cross-validation';
import { mainScoreKeys, modelKind } from '@platform/contract/job/model-kinds';
import { bytes, percent } from '../../ui/quantities.ts';
import { span } from '../../ui/times.ts';
import { isolateText } from '../../ui/user-text.ts';

/**
 * The fields of an evaluation that a page shows. Trainers of other versions may omit some: the page omits them, too.
 */
export interface EvaluationView {
  /** The main one first. */
  figures: readonly { name: string; value: string }[];
  count: number;
  heldOut: 'test' | 'validation';
  labels: readonly string[];
  /** Rows: true class, columns: predicted class. Only for single-label classifiers. */
  heat: readonly HeatRow[];
  /** Figures of each label; the columns depend on the kind of model. */
  classes: { columns: readonly string[]; rows: readonly { label: string; cells: readonly string[] }[] };
  curve: readonly object[];
  chosen: string | undefined;
  /** The stages of training, each with its main figure. */
  scores: readonly { name: string; value: string }[];
  /** The latency of one prediction with each file, and how it was measured. */
  latencies: readonly string[];
  images: { train: number; validation: number; test: number; skipped: number } | undefined;
  skipped: Evaluation['skipped'];
  mistakes: readonly Mistake[];
  advice: readonly string[];
  side: number | undefined;
  /** The device of the training and the reason for it: "cpu: …". */
  device: string | undefined;
  pretrained: string | undefined;
  /** The score for images unlike anything seen; only for single-label classifiers. */
  unlike: string | undefined;
  /** The INT8 forms: their scores, and why one is left out. */
  int8: readonly string[];
  /** The cross-validated score, where few images are held out. */
  crossValidation: string | undefined;
  /** The networks that a classifier compared; the first sentence says why one was chosen. */
  networks: readonly string[];
}

/** A held-out image with a wrong prediction. */
export interface Mistake {
  binaryDataId: string;
  fileName: string;
  /** The true label: "cup". */
  truth: string;
  /** The predicted label: "pen (92 %)". */
  predicted: string;
  boxes: readonly DrawnBox[];
}
/** Corners as fractions of width and height. */
export interface DrawnBox {
  label: string;
  x: number;
  y: number;
  width: number;
  height: number;
  is: 'missed' | 'wrong';
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

/** The class of images with none of the labels has a name of the wire; users read what it is. */
const shownLabel = (label: string): string => (label === UNKNOWN_LABEL ? 'none of the labels' : label);

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

type Loose<T> = { [K in keyof T]?: T[K] | undefined };

/** Main figures by the names in evaluation.json, in the order they are shown. */
const shareNames: readonly (readonly [key: string, name: string])[] = [
  ['accuracy', 'Accuracy'],
  ['map50', 'mAP50'],
  ['map75', 'mAP75'],
  ['map', 'mAP50–95'],
  ['micro_f1', 'Micro F1'],
  ['macro_f1', 'Macro F1'],
  ['exact_match', 'All labels right'],
  ['mean_average_precision', 'Mean average precision'],
];

const shareIn = (from: object | null | undefined, key: string): number | undefined => {
  const value = (from as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === 'number' ? value : undefined;
};

/** The main figure of an evaluation or of one of its stages. */
export function mainShare(from: object | null | undefined): { key: string; share: number; count: number } | undefined {
  for (const key of mainScoreKeys) {
    const share = shareIn(from, key);
    if (share !== undefined) return { key, share, count: shareIn(from, 'count') ?? 0 };
  }
  return undefined;
}

const classColumns: readonly (readonly [key: string, name: string])[] = [
  ['ap50', 'AP50'],
  ['ap75', 'AP75'],
  ['average_precision', 'Avg. precision'],
  ['precision', 'Precision'],
  ['recall', 'Recall'],
  ['f1', 'F1'],
  ['threshold', 'Threshold'],
  ['support', ''],
];

const isClassFigure = (key: string): key is ClassFigure => (classFigures as readonly string[]).includes(key);

function classesOf(perClass: readonly object[], countWord: string): EvaluationView['classes'] {
  const columns = classColumns.filter(([key]) => perClass.some((one) => shareIn(one, key) !== undefined));
  const cell = (one: object, key: string): string => {
    const value = shareIn(one, key);
    if (value === undefined) return '';
    if (key === 'support') return String(value);
    if (key === 'threshold') return value.toFixed(2);
    return isClassFigure(key) ? classText(one, key) : percent(value);
  };
  return {
    columns: columns.map(([, name]) => name || countWord),
    rows: perClass.map((one) => ({
      label: shownLabel(String((one as Record<string, unknown>)['label'] ?? '')),
      cells: columns.map(([key]) => cell(one, key)),
    })),
  };
}

const drawn = (box: Omit<FoundBox, 'score'>, is: DrawnBox['is']): DrawnBox => ({
  label: box.label,
  x: box.x_min_normalized,
  y: box.y_min_normalized,
  width: box.x_max_normalized - box.x_min_normalized,
  height: box.y_max_normalized - box.y_min_normalized,
  is,
});

const listed = (labels: readonly string[], otherwise: string): string => labels.join(', ') || otherwise;

/** Distinguished by their shape, not by the task: a new kind of model may share one. */
function mistakesOf(worst: readonly object[]): Mistake[] {
  const mistakes = worst.flatMap((any): Mistake[] => {
    const image = any as Evaluation['worst'][number];
    const head = { binaryDataId: image.binary_data_id ?? '', fileName: image.file_name, boxes: [] };
    if ('missed' in any) {
      const { missed, wrong } = any as DetectionEvaluation['worst'][number];
      const boxes = [...missed.map((box) => drawn(box, 'missed')), ...wrong.map((box) => drawn(box, 'wrong'))];
      const truth = listed([...new Set(missed.map((box) => box.label))], 'nothing missed');
      const predicted = listed(
        wrong.map((box) => `${isolateText(box.label)} (${percent(box.score, 0)})`),
        'nothing wrong',
      );
      return boxes.length === 0 ? [] : [{ ...head, truth, predicted, boxes }];
    }
    if ('labels' in any) {
      const { labels, predicted } = any as MultiLabelEvaluation['worst'][number];
      const [truth, found] = [labels, predicted].map((some) => listed(some.map(shownLabel), 'no label'));
      return [{ ...head, truth: truth ?? '', predicted: found ?? '' }];
    }
    const { label, predicted, probability } = image;
    return label === predicted
      ? []
      : [{ ...head, truth: label, predicted: `${predicted} (${percent(probability, 0)})` }];
  });
  return mistakes.filter((one) => one.binaryDataId !== '');
}

function unlikeText({
  unlike,
  evaluated_on: heldOut,
}: Pick<Loose<Evaluation>, 'unlike' | 'evaluated_on'>): string | undefined {
  const [threshold, chosen, by] = ['threshold', 'chosen_above', 'chosen_count'].map((key) => shareIn(unlike, key));
  if (threshold === undefined || chosen === undefined || by === undefined) return undefined;
  const images = unlike?.chosen_on === 'train' ? 'training images' : 'validation images';
  const [above, count] = [shareIn(unlike, 'above'), shareIn(unlike, 'count')];
  const test = heldOut === 'test' && count !== undefined ? `, and ${above} of ${count} test images` : '';
  return `Images unlike anything seen have a score above ${threshold}. Above it are ${chosen} of ${by} ${images}, which chose it${test}; all of them show known labels.`;
}

function int8Texts(int8: Loose<Evaluation>['int8']): string[] {
  if (!Array.isArray(int8?.forms)) return [];
  if (int8.forms.length === 0) return ['No INT8 form: the time of the job was over.'];
  return int8.forms.map(({ file, size_bytes: size, is_delivered: isDelivered, reason }) => {
    const what = isDelivered ? `${file}, ${bytes(size)}` : `${file} is left out`;
    return `${what}: ${reason}`;
  });
}

function networkTexts(networks: Loose<Evaluation>['networks']): string[] {
  if (!networks?.candidates || typeof networks.reason !== 'string') return [];
  const candidates = networks.candidates.map(({ recipe, name, validation_score: score, ...cost }) => {
    const [size, time] = [bytes(cost.size_bytes), `${cost.latency_ms} ms an image`];
    const delivered = recipe === networks.chosen ? ', delivered' : '';
    return `${recipe}${delivered} (${name}): ${percent(score)} on validation images, ${size}, ${time}, trained in ${span(cost.seconds * 1000)}.`;
  });
  return [networks.reason, ...candidates];
}

/** Returns undefined if it is not an evaluation of a known kind of model. */
export function evaluationView(json: JsonObject | undefined): EvaluationView | undefined {
  const main = mainShare(json);
  if (json === undefined || main === undefined) return undefined;
  const from = json as unknown as Loose<AnyEvaluation> & Pick<Loose<Evaluation>, 'confusion' | 'unlike' | 'networks'>;
  const labels = (from.labels ?? []).map(shownLabel);
  const { model, seconds } = from;
  const stages = [
    { name: 'Probe', score: from.probe },
    { name: 'Fine-tuned', score: from.fine_tuned },
  ];
  return {
    figures: [
      ...shareNames.flatMap(([key, name]) => {
        const share = shareIn(json, key);
        return share === undefined ? [] : [{ name, value: scoreText(key, share, main.count) }];
      }),
      ...(seconds?.total === undefined ? [] : [{ name: 'Training and evaluation', value: span(seconds.total * 1000) }]),
      ...(model?.size_bytes === undefined ? [] : [{ name: 'Model file', value: bytes(model.size_bytes) }]),
      ...(model?.latency_ms === undefined
        ? []
        : [{ name: 'One prediction', value: `${model.latency_ms.toFixed(0)} ms` }]),
    ],
    count: from.count ?? 0,
    heldOut: from.evaluated_on ?? 'test',
    labels,
    heat: from.confusion ? heatOf(labels, from.confusion) : [],
    classes: classesOf(from.per_class ?? [], modelKind(from.task)?.labelSource === 'boxes' ? 'Boxes' : 'Images'),
    curve: from.curve ?? [],
    chosen: from.chosen,
    scores: stages.flatMap(({ name, score }) => {
      const share = shareIn(score, main.key);
      return share === undefined ? [] : [{ name, value: scoreText(main.key, share, main.count) }];
    }),
    latencies: (from.files ?? []).flatMap(({ file, latency_ms: ms, latency_by: by }) =>
      ms === null || by === undefined ? [] : [`${file} ${ms.toFixed(0)} ms by ${by}`],
    ),
    images: from.images,
    skipped: from.skipped ?? [],
    mistakes: mistakesOf(from.worst ?? []),
    advice: from.advice ?? [],
    side: from.side,
    device: from.device && `${from.device.name.toUpperCase()}: ${from.device.reason}`,
    pretrained: from.pretrained?.name,
    unlike: unlikeText(from),
    int8: int8Texts(from.int8),
    crossValidation: crossValidationText(json),
    networks: networkTexts(from.networks),
  };
}
