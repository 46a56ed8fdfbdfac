/**
 * evaluation.json of the built-in trainers: measured with the exported file on pictures that training never saw.
 * Shares are 0..1. A script of a user may write one of these, too; then it is shown like ours.
 */
import type { ClassIntervals } from './confidence.ts';

export interface Score {
  accuracy: number;
  macro_f1: number;
}
export interface ClassReport {
  label: string;
  precision: number;
  recall: number;
  f1: number;
  /** Held-out pictures (detection: boxes) of this class. */
  support: number;
  /** 95 % intervals of the figures by their names; absent in files of earlier trainers. */
  intervals_95?: ClassIntervals;
}
interface CurveHead {
  /** 0 is the probe or, for detection, the state before training. */
  epoch: number;
  stage: Stage;
  /** Mean training loss of the epoch. */
  loss: number;
  seconds: number;
}
export type Stage = 'probe' | 'fine-tune';
export interface CurvePoint extends CurveHead {
  /** Null where no validation pictures were set apart. */
  validation_loss: number | null;
  validation_accuracy: number | null;
}
export interface MultiLabelCurvePoint extends CurveHead {
  validation_loss: number | null;
  validation_micro_f1: number | null;
}
export interface DetectionCurvePoint extends CurveHead {
  validation_loss: number | null;
  validation_map50: number | null;
}
/** One held-out picture that went wrong. */
export interface PictureReference {
  image_path: string;
  file_name: string;
  sha256: string;
  binary_data_id?: string;
}
export interface Prediction extends PictureReference {
  label: string;
  predicted: string;
  probability: number;
}
export interface MultiLabelPrediction extends PictureReference {
  labels: string[];
  predicted: string[];
}
/** Corners in 0..1 of the picture's width and height. */
export interface FoundBox {
  label: string;
  score: number;
  x_min_normalized: number;
  y_min_normalized: number;
  x_max_normalized: number;
  y_max_normalized: number;
}
export interface DetectionMistakes extends PictureReference {
  /** True boxes that were not found, and found boxes that are not there (IoU 0.5), the surest first. */
  missed: Omit<FoundBox, 'score'>[];
  wrong: FoundBox[];
}
export interface ModelFile {
  file: string;
  size_bytes: number;
  sha256: string;
  /** Median of one picture on the machine that trained; null where that file cannot be run here. */
  latency_ms: number | null;
  /** What ran it: the same file takes another time elsewhere. */
  latency_by?: string;
  /** Largest difference of an output to the trained network; null where that file cannot be run here. */
  max_difference: number | null;
}

interface EvaluationHead {
  format: 1;
  labels: string[];
  /** `validation` only where the dataset has no test pictures: then the choice of weights has seen them. */
  evaluated_on: 'test' | 'validation';
  /** Held-out pictures. */
  count: number;
  /** What is delivered: the fine-tuned network, unless the probe validates clearly better. */
  chosen: Stage;
  pictures: { train: number; validation: number; test: number; skipped: number };
  /** At most 100 of them. */
  skipped: { image_path: string; file_name: string; reason: string }[];
  seed: number;
  /** Pictures are scaled to side × side px. */
  side: number;
  seconds: { total: number; probe: number; fine_tune: number; evaluation: number };
  /** The ONNX file. */
  model: { file: string; size_bytes: number; sha256: string; latency_ms: number; max_difference: number };
  /** Every model file of the version, the ONNX one first. */
  files: ModelFile[];
  pretrained: { name: string; sha256: string };
  versions: Record<string, string>;
  machine: { cpu: string; cores: number; peak_rss_mib: number };
  /** What the training ran on, and why not on more. */
  device: { name: 'cpu' | 'cuda'; reason: string };
  /** What would help: classes with few pictures, imbalance … */
  advice: string[];
}

export interface Evaluation extends EvaluationHead, Score {
  task: 'single_label_classification';
  per_class: ClassReport[];
  /** Rows: true class, columns: predicted class, both in the order of `labels`. */
  confusion: number[][];
  /** Both measured on the held-out pictures; null where it was not trained. */
  probe: Score | null;
  fine_tuned: Score | null;
  curve: CurvePoint[];
  /** The held-out pictures that went most wrong, worst first; at most 20. */
  worst: Prediction[];
}

export interface MultiLabelScore {
  micro_f1: number;
  macro_f1: number;
  /** Pictures whose whole set of labels is right. */
  exact_match: number;
  mean_average_precision: number;
}
export interface MultiLabelEvaluation extends EvaluationHead, MultiLabelScore {
  task: 'multi_label_classification';
  /** `threshold`: the label counts as present from this probability on, chosen on validation for the best F1. */
  per_class: (ClassReport & { average_precision: number; threshold: number })[];
  probe: MultiLabelScore | null;
  fine_tuned: MultiLabelScore | null;
  curve: MultiLabelCurvePoint[];
  worst: MultiLabelPrediction[];
}

export interface DetectionScore {
  /** Mean over the labels of the average precision at IoU 0.5, 0.75, and at 0.5 to 0.95 in steps of 0.05. */
  map50: number;
  map75: number;
  map: number;
}
export interface DetectionEvaluation extends EvaluationHead, DetectionScore {
  task: 'object_detection';
  /** Precision, recall and F1 at `threshold` and IoU 0.5; `support` counts boxes. */
  per_class: (ClassReport & { ap50: number; ap75: number; threshold: number })[];
  /** Boxes by part. */
  boxes: { train: number; validation: number; test: number };
  probe: DetectionScore | null;
  fine_tuned: DetectionScore | null;
  curve: DetectionCurvePoint[];
  worst: DetectionMistakes[];
}

export type AnyEvaluation = Evaluation | MultiLabelEvaluation | DetectionEvaluation;
