// The kinds of models that the platform trains, with all facts that several programs need.
import type { ModelType } from '../gen/platform/app/mltraining/v1/ml_training_pb.ts';

/** Frameworks of the files that built-in trainers export. `tflite` includes the ONNX file. */
export const modelFrameworks = ['tflite', 'onnx'] as const;
export type MadeFramework = (typeof modelFrameworks)[number];

export interface ModelKind {
  /** Value on the wire. */
  readonly modelType: ModelType;
  readonly title: string;
  /** The title in a list; with dashes instead of spaces it is the command-line value. */
  readonly shortTitle: string;
  /** The question that such a model answers. */
  readonly question: string;
  /** Source of an image's labels: its tags and classifications, or its bounding boxes. */
  readonly labelSource: 'tags' | 'boxes';
  /** `one`: images with several of the labels are skipped. */
  readonly labelsPerImage: 'one' | 'any';
  /** Minimum dataset for training; `perLabel` counts images or, with `labelSource` boxes, boxes. */
  readonly minimum: { readonly labels: number; readonly images: number; readonly perLabel: number };
  /** Frameworks that its trainer exports; the first is the default. */
  readonly frameworks: readonly MadeFramework[];
  /** Input size of the network in pixels; the input is square. */
  readonly side: { readonly min: number; readonly max: number; readonly multipleOf: number };
  /** The outputs of its model files, all float32. */
  readonly outputs: readonly string[];
  /** Minimum score of a label if its file has no threshold; null: the label with the highest score. */
  readonly defaultThreshold: number | null;
  /** The main score of an evaluation: its key in evaluation.json, and its name for users. */
  readonly score: { readonly key: string; readonly name: string };
  /** Folder of its trainer below `trainers/`. */
  readonly trainer: string;
}

/** The keys are the kinds of jobs, the tasks of model files and the model types of the registry. */
export const modelKinds = {
  single_label_classification: {
    modelType: 1,
    title: 'Single-label classification',
    shortTitle: 'single-label',
    question: 'Which one of the labels does an image show?',
    labelSource: 'tags',
    labelsPerImage: 'one',
    minimum: { labels: 2, images: 1, perLabel: 10 },
    frameworks: ['tflite', 'onnx'],
    side: { min: 96, max: 320, multipleOf: 32 },
    outputs: ['probability'],
    defaultThreshold: null,
    score: { key: 'accuracy', name: 'accuracy' },
    trainer: 'classification',
  },
  multi_label_classification: {
    modelType: 2,
    title: 'Multi-label classification',
    shortTitle: 'multi-label',
    question: 'Which of the labels does an image show, any number of them?',
    labelSource: 'tags',
    labelsPerImage: 'any',
    minimum: { labels: 2, images: 1, perLabel: 10 },
    frameworks: ['tflite', 'onnx'],
    side: { min: 96, max: 320, multipleOf: 32 },
    outputs: ['probability'],
    defaultThreshold: 0.5,
    score: { key: 'micro_f1', name: 'micro F1' },
    trainer: 'classification',
  },
  object_detection: {
    modelType: 3,
    title: 'Object detection',
    shortTitle: 'object detection',
    question: 'Where in an image are things, and which? Learns from boxes.',
    labelSource: 'boxes',
    labelsPerImage: 'any',
    minimum: { labels: 1, images: 15, perLabel: 10 },
    frameworks: ['tflite', 'onnx'],
    side: { min: 96, max: 512, multipleOf: 32 },
    outputs: ['location', 'category', 'score'],
    defaultThreshold: 0.3,
    score: { key: 'map50', name: 'mAP50' },
    trainer: 'detection',
  },
} as const satisfies Readonly<Record<string, ModelKind>>;

export type BuiltInKind = keyof typeof modelKinds;
export const builtInKinds = Object.keys(modelKinds) as readonly BuiltInKind[];

export const isBuiltInKind = (kind: string): kind is BuiltInKind => Object.hasOwn(modelKinds, kind);

/** Undefined for users' scripts, and for kinds of other platform versions. */
export const modelKind = (kind: string | undefined): ModelKind | undefined =>
  kind !== undefined && isBuiltInKind(kind) ? modelKinds[kind] : undefined;

/** Undefined for an unspecified or unknown number. */
export const kindOfModelType = (modelType: number): BuiltInKind | undefined =>
  builtInKinds.find((kind) => modelKinds[kind].modelType === modelType);

const scoreNames: ReadonlyMap<string, string> = new Map(
  builtInKinds.map((kind) => [modelKinds[kind].score.key, modelKinds[kind].score.name]),
);

/** Keys of the main scores in evaluation.json. */
export const mainScoreKeys: readonly string[] = [...scoreNames.keys()];

/** The name of a score for users; users' scripts have their own scores. */
export const scoreName = (key: string): string => scoreNames.get(key) ?? key;
