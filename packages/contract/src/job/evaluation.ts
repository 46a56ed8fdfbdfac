/**
 * evaluation.json of the built-in trainers: measured with the exported file on held-out images. Shares are 0..1. A
 * user's script may write this file, too; the platform then shows it in the same way.
 */
import type { ClassIntervals } from './confidence.ts';
import type { CrossValidation } from './cross-validation.ts';

export interface Score {
  accuracy: number;
  macro_f1: number;
}
export interface ClassReport {
  label: string;
  precision: number;
  recall: number;
  f1: number;
  /** Held-out images (detection: boxes) of this class. */
  support: number;
  /** 95 % intervals of the metrics by name. */
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
  /** Null without validation images. */
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
/** A held-out image with a wrong prediction. */
export interface ImageReference {
  image_path: string;
  file_name: string;
  sha256: string;
  binary_data_id?: string;
}
export interface Prediction extends ImageReference {
  label: string;
  predicted: string;
  probability: number;
}
export interface MultiLabelPrediction extends ImageReference {
  labels: string[];
  predicted: string[];
}
/** Corners in 0..1 of the image's width and height. */
export interface FoundBox {
  label: string;
  score: number;
  x_min_normalized: number;
  y_min_normalized: number;
  x_max_normalized: number;
  y_max_normalized: number;
}
export interface DetectionMistakes extends ImageReference {
  /** Missed true boxes and false positives (IoU 0.5), the highest score first. */
  missed: Omit<FoundBox, 'score'>[];
  wrong: FoundBox[];
}
export interface ModelFile {
  file: string;
  size_bytes: number;
  sha256: string;
  /** Median time per image on the training host; null if that host cannot run the file. */
  latency_ms: number | null;
  /** The runtime of the measurement: times differ between runtimes. */
  latency_by?: string;
  /** Maximum difference of an output to the trained network; null if the training host cannot run the file. */
  max_difference: number | null;
  /** Absent: float32. */
  precision?: 'int8';
}

/** The INT8 forms of the model files beside the float32 ONNX file, on the same held-out images. */
export interface Int8Report {
  /** Training images that chose the ranges of the numbers. */
  calibration_images: number;
  metric: 'accuracy' | 'micro_f1' | 'map50';
  /** Score of the float32 file. */
  float32: number;
  /** Cases of the score: images, or boxes of a detector. */
  cases: number;
  /** Empty if the job had no time for them. */
  forms: Int8Form[];
}
export interface Int8Form {
  format: 'onnx' | 'tflite';
  /** Its name; the file exists only if it is delivered. */
  file: string;
  size_bytes: number;
  score: number;
  /** How the score was measured. */
  score_by: string;
  /**
   * Held-out images that the form ran on, and the cases of its score. A slow form runs on a part of the images.
   */
  images?: number;
  cases?: number;
  /** Duration of the measurement. */
  seconds?: number;
  /** False: it loses more than one standard error of the float32 file's score on the same images. */
  is_delivered: boolean;
  /** One sentence for users. */
  reason: string;
}

/** What the held-out images have in common with the training images. */
export interface HeldOutReport {
  /** `group`: images of one `group:` tag stay in one split. */
  split_by: 'image' | 'group';
  /** Groups of the held-out images, and those of them that training images have, too. */
  groups: number;
  shared_groups: number;
  /** Held-out images that are nearly the same as a training image, with up to three examples. */
  near_copies: number;
  examples: { image: string; like: string }[];
  /** Every training image is nearly the same as the first. */
  all_alike: boolean;
  /**
   * How near copies were found: `thumbnails`, or `features` of the pretrained network and thumbnails.
   */
  measure?: 'thumbnails' | 'features';
  /** Images that the trainer moved to the split of their near copies. Absent: it moves none. */
  moved?: number;
  /** Images that were left out: near copies of test images that users chose. Absent: none. */
  left_out?: number;
}

/** How well probabilities match the share of right answers. */
export interface Calibration {
  /** The logits are divided by it; chosen by the validation images, contained in the model files. */
  temperature: number;
  /**
   * Added to the logits before, one per label in their order; chosen and contained likewise. Absent if cross-validation
   * shows no gain, without test images, if validation images have another balance than training images, with several
   * labels per image, and with two networks (each has its own).
   */
  offsets?: number[];
  /** Expected calibration error on the held-out images, in ten bins: 0.03 means that probabilities are off by 3 %. */
  error: number;
  /** The same without temperature and offsets. */
  error_before: number;
  /** Accuracy on the held-out images without offsets; absent as these are. */
  accuracy_before?: number;
}

/** The score "unlike anything seen": the second output of a classifier with one label per image. */
export interface UnlikeReport {
  /** Contained in the metadata of the model files; an image with a higher score is unlike the training images. */
  threshold: number;
  /**
   * The images that chose the threshold: 95 % of them and of their augmented copies have at most that score. `train`:
   * without validation images, each training image beside the others.
   */
  chosen_on: 'validation' | 'train';
  chosen_count: number;
  chosen_above: number;
  /** Held-out images, and those of them above the threshold. All show labels that the model knows. */
  count: number;
  above: number;
}

/** A network that the job trained: what it costs, and how well it does on the validation images. */
export interface NetworkReport {
  recipe: 'compact' | 'accurate';
  name: string;
  stage: Stage;
  /** Size of its ONNX file. */
  size_bytes: number;
  /** Median time of its ONNX file per image on the training host. */
  latency_ms: number;
  /** Duration of its training; that of the accurate network includes the compact one. */
  seconds: number;
  /** Mean score of a validation image: right or wrong, or the F1 of its labels or boxes. */
  validation_score: number;
}
/** The networks of the recipes `auto` and `accurate`, and which of them is delivered. */
export interface NetworkChoice {
  chosen: NetworkReport['recipe'];
  /** One sentence for users. */
  reason: string;
  /** The compact one first; only that one if the other could not be chosen. */
  candidates: NetworkReport[];
  /** Paired difference on the validation images, accurate − compact; null with one candidate. */
  gain: { mean: number; standard_error: number; images: number } | null;
}

interface EvaluationHead {
  format: 1;
  labels: string[];
  /** `validation` only if the dataset has no test images; the weights were then selected on the same images. */
  evaluated_on: 'test' | 'validation';
  /** Number of held-out images. */
  count: number;
  /** The delivered stage: fine-tuned, unless the probe validates clearly better. */
  chosen: Stage;
  images: { train: number; validation: number; test: number; skipped: number };
  /** At most 100 entries. */
  skipped: { image_path: string; file_name: string; reason: string }[];
  seed: number;
  /** Images are resized to side × side px. */
  side: number;
  seconds: { total: number; probe: number; fine_tune: number; evaluation: number };
  /** The ONNX file. */
  model: { file: string; size_bytes: number; sha256: string; latency_ms: number; max_difference: number };
  /** Every model file of the version: float32 ONNX, TensorFlow Lite, then their INT8 forms. */
  files: ModelFile[];
  pretrained: { name: string; sha256: string };
  versions: Record<string, string>;
  machine: { cpu: string; cores: number; peak_rss_mib: number };
  /** The device of the training, and the reason for its choice. */
  device: { name: 'cpu' | 'cuda'; reason: string };
  /** Suggestions: classes with few images, imbalance … */
  advice: string[];
  /** Absent in files of scripts. */
  held_out?: HeldOutReport;
  /** Recipes `auto` and `accurate` only. */
  networks?: NetworkChoice;
  /** Absent in files of scripts. */
  int8?: Int8Report;
  /** Classifiers with fewer than 100 held-out images only. */
  cross_validation?: CrossValidation;
}

export interface Evaluation extends EvaluationHead, Score {
  task: 'single_label_classification';
  per_class: ClassReport[];
  /** Rows: true class, columns: predicted class, both in the order of `labels`. */
  confusion: number[][];
  /** Absent in files of scripts. */
  calibration?: Calibration;
  /** Absent in files of scripts. */
  unlike?: UnlikeReport;
  /** Both measured on the held-out images; null if not trained. */
  probe: Score | null;
  fine_tuned: Score | null;
  curve: CurvePoint[];
  /** The held-out images with the worst predictions, worst first; at most 20. */
  worst: Prediction[];
}

export interface MultiLabelScore {
  micro_f1: number;
  macro_f1: number;
  /** Images with exactly the right set of labels. */
  exact_match: number;
  mean_average_precision: number;
}
export interface MultiLabelEvaluation extends EvaluationHead, MultiLabelScore {
  task: 'multi_label_classification';
  /** `threshold`: minimum probability of a predicted label, selected on validation images for the best F1. */
  per_class: (ClassReport & { average_precision: number; threshold: number })[];
  calibration?: Calibration;
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
  /** Number of boxes by split. */
  boxes: { train: number; validation: number; test: number };
  probe: DetectionScore | null;
  fine_tuned: DetectionScore | null;
  curve: DetectionCurvePoint[];
  worst: DetectionMistakes[];
}

/** MB, 10^6 bytes, of a figure in MiB. */
export const megabytesOf = (mib: number): number => Math.round((mib * 2 ** 20) / 1e6);

export type AnyEvaluation = Evaluation | MultiLabelEvaluation | DetectionEvaluation;
