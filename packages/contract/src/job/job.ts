/**
 * The job folder: files from the runner to the trainer and back. Built-in trainers and user scripts share this
 * contract. Keys in files are snake_case; times are RFC 3339 text; sizes and durations carry their unit.
 *
 *   job.json        JobSpec plus `command`                 read-only
 *   dataset.jsonl   one DatasetLine per image              read-only, images beside it in data/
 *   events.ndjson   one JobEvent per line                  appended by the trainer
 *   model/          the unpacked model of kind `predict`   read-only
 *   out/            the files of the model version, or     without out/tmp/
 *                   predictions.jsonl of kind `predict`
 *   exit.json       JobExit                                written by the runner, last
 */

import { type BuiltInKind, builtInKinds, type MadeFramework, modelFrameworks } from './model-kinds.ts';

/** `custom`: a user's training script. `predict`: suggestions of a model for the images of a dataset; it trains nothing. */
export type JobKind = BuiltInKind | 'custom' | 'predict';
export const jobKinds: readonly JobKind[] = [...builtInKinds, 'predict', 'custom'];

export const splits = ['train', 'validation', 'test'] as const;
export type Split = (typeof splits)[number];

/** `queued`: leased, but not yet started by an engine such as Slurm; clients see PENDING. */
export const jobPhases = ['queued', 'preparing', 'training', 'evaluating', 'exporting', 'uploading'] as const;
export type JobPhase = (typeof jobPhases)[number];

/** Files of the job folder, relative to it. */
export const jobFiles = {
  job: 'job.json',
  dataset: 'dataset.jsonl',
  images: 'data',
  /** For kind `predict`: the unpacked model version. */
  model: 'model',
  events: 'events.ndjson',
  out: 'out',
  exit: 'exit.json',
  log: 'trainer.log',
} as const;

/** Files that a built-in classifier writes to out/ beside `<model_name>.onnx`. */
export const modelFiles = {
  labels: 'labels.txt',
  evaluation: 'evaluation.json',
  curves: 'curves.png',
  cardJson: 'model_card.json',
  cardText: 'model_card.md',
} as const;

/** The class of images without any of the requested labels. */
export const UNKNOWN_LABEL = 'VIAM_UNKNOWN';

/**
 * Settings of glibc's allocator for built-in trainers. With the default number of arenas it holds 25 % more memory than
 * the trainer uses. With dynamic thresholds, fragmentation can double the heap.
 */
export const trainerMalloc = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '4194304',
  MALLOC_TRIM_THRESHOLD_: '33554432',
} as const;

/** Exit codes of built-in trainers. 65 is EX_DATAERR; 143 is 128 + SIGTERM. */
export const trainerExit = { ok: 0, failed: 1, badData: 65, terminated: 143 } as const;

export interface JobLimits {
  wall_seconds: number;
  memory_mib: number;
  disk_mib: number;
  /** GPUs that the job requires. 0 or absent: none, but it may use a free one. */
  gpus?: number;
}

/** The training script of a custom job in the registry. */
export interface JobScript {
  /** `<namespace or organization id>:<name>`, as requested. */
  registry_item_id: string;
  version: string;
  /** Hash of the .tar.gz, in hex; the runner downloads it as a blob. */
  package_sha256: string;
}

/** The model of a job of kind `predict`. */
export interface JobModel {
  name: string;
  version: string;
  /** Hash of the .tar.gz, in hex; the runner downloads it as a blob. */
  package_sha256: string;
}

/** job.json without local paths, as the queue sends it to a runner. */
export interface JobSpec {
  id: string;
  /** 1, 2, …: incremented with each lease of the job. */
  attempt: number;
  org_id: string;
  kind: JobKind;
  model_name: string;
  model_version: string;
  /** The requested labels. Empty: every label in the dataset. */
  labels: string[];
  /** Flags of the trainer, `--key=value`; for built-in trainers those of trainer-settings.ts. */
  arguments: Record<string, string>;
  /** The same seed and input give the same model. 0 … 2^32 − 1. */
  seed: number;
  limits: JobLimits;
  /** RFC 3339. */
  deadline: string;
  /** `probe`: only the linear head, in seconds. Absent: the trainer decides. Takes precedence over arguments.recipe. */
  recipe?: string;
  /** For built-in trainers. Default: tflite. */
  framework?: MadeFramework;
  /** For kind `custom` only. */
  script?: JobScript;
  /** For kind `predict` only. */
  model?: JobModel;
  /** For kind `custom`: the environment, for example `py:3.11`. Absent: the runner's default. */
  container_version?: string;
  dataset_id?: string;
  dataset_version_id?: string;
}

/** job.json in the job folder. */
export interface JobFile extends JobSpec {
  /** Program and arguments that the runner started. */
  command: string[];
}

export interface LabelAnnotation {
  annotation_label: string;
  confidence?: number;
}

/** Corners in 0..1 of the image's width and height. */
export interface BoxAnnotation {
  id?: string;
  annotation_label: string;
  x_min_normalized: number;
  y_min_normalized: number;
  x_max_normalized: number;
  y_max_normalized: number;
  confidence?: number;
}

/** One image: a line of the frozen manifest and of dataset.jsonl. */
export interface DatasetLine {
  /** Relative to the folder of dataset.jsonl; in a manifest it may be a bare file name. */
  image_path: string;
  sha256: string;
  size_bytes: number;
  file_name: string;
  split: Split;
  classification_annotations: LabelAnnotation[];
  bounding_box_annotations: BoxAnnotation[];
  /** Capture time of the image in Go's format: `2024-01-02 15:04:05.999 +0000 UTC`. */
  timestamp: string;
  part_id: string;
  component_name: string;
  binary_data_id?: string;
  organization_id?: string;
  robot_id?: string;
  location_id?: string;
  /** NAME of the tag `group:NAME`: images of one group show the same object or scene and stay in one split. */
  group?: string;
  /** A user chose the split by a tag `split:…` of the image. Absent: no. */
  split_chosen?: true;
}

interface EventHead {
  /** 1, 2, … within the attempt, over all event types. */
  sequence: number;
  time: string;
}
export type JobEvent = EventHead &
  (
    | { is: 'progress'; phase: JobPhase; progress: number; eta_seconds?: number }
    /** For example {"stage": "fine-tune", "epoch": 3, "loss": 0.4, "validation_accuracy": 0.9}. */
    | { is: 'metric'; values: Record<string, number | string> }
    | { is: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; message: string }
    /** Something was skipped or corrected; training continues. */
    | { is: 'warning'; code: string; message: string }
    /** Training ends; `code` is a code of the error table. */
    | { is: 'error'; code: string; message: string }
  );

/** A plain `Omit` on the union would merge its members. */
export type JobEventBody = JobEvent extends infer E ? (E extends EventHead ? Omit<E, keyof EventHead> : never) : never;

export interface JobExit {
  /** done; stopped on request; invalid data or script; otherwise infrastructure, which the queue retries. */
  result: 'done' | 'stopped' | 'data' | 'script' | 'infrastructure';
  /** Code of the error table; absent if done or stopped. */
  code?: string;
  message?: string;
  started: string;
  ended: string;
}

const extensions: Record<string, string> = { '.jpeg': '.jpg' };

/** Path of a line's image in the job folder, by content: equal images share one file. */
export function imagePath(line: Pick<DatasetLine, 'sha256' | 'file_name'>): string {
  const extension = /\.[a-z0-9]{1,5}$/.exec(line.file_name.toLowerCase())?.[0] ?? '';
  return `${jobFiles.images}/${line.sha256}${extensions[extension] ?? extension}`;
}

/** A file of the job folder has an invalid format. `path` names the field, for example `limits.wall_seconds`. */
export class JobFormatError extends Error {
  readonly path: string;
  constructor(path: string, message: string) {
    super(`${path || 'the value'} ${message}`);
    this.name = 'JobFormatError';
    this.path = path;
  }
}

type Fields = Record<string, unknown>;

function fields(value: unknown, path: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new JobFormatError(path, 'must be an object');
  }
  return value as Fields;
}
function text(from: Fields, key: string, { may = 'filled' }: { may?: 'filled' | 'empty' } = {}): string {
  const value = from[key];
  if (typeof value !== 'string' || (may === 'filled' && value === '')) {
    throw new JobFormatError(key, 'must be a text' + (may === 'filled' ? ' that is not empty' : ''));
  }
  return value;
}
const textOrEmpty = (from: Fields, key: string): string =>
  from[key] === undefined ? '' : text(from, key, { may: 'empty' });
function number(from: Fields, key: string, min: number, max: number): number {
  const value = from[key];
  if (typeof value !== 'number' || !(value >= min && value <= max)) {
    throw new JobFormatError(key, `must be a number from ${min} to ${max}`);
  }
  return value;
}
function integer(from: Fields, key: string, min: number, max = Number.MAX_SAFE_INTEGER): number {
  const value = number(from, key, min, max);
  if (!Number.isInteger(value)) throw new JobFormatError(key, 'must be a whole number');
  return value;
}
function choice<T extends string>(from: Fields, key: string, allowed: readonly T[]): T {
  const value = from[key];
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw new JobFormatError(key, `must be one of ${allowed.join(', ')}`);
  return found;
}
function list<T>(from: Fields, key: string, read: (value: unknown, path: string) => T): T[] {
  const value = from[key] ?? [];
  if (!Array.isArray(value)) throw new JobFormatError(key, 'must be a list');
  return value.map((one, at) => read(one, `${key}[${at}]`));
}
function textItem(value: unknown, path: string): string {
  if (typeof value !== 'string') throw new JobFormatError(path, 'must be a text');
  return value;
}
function instant(from: Fields, key: string): string {
  const value = text(from, key);
  if (Number.isNaN(Date.parse(value))) throw new JobFormatError(key, 'must be a time like 2026-01-31T12:00:00Z');
  return value;
}
function sha256(from: Fields, key: string): string {
  const value = text(from, key);
  if (!/^[0-9a-f]{64}$/.test(value)) throw new JobFormatError(key, 'must be 64 hex digits');
  return value;
}
function optional<K extends string>(from: Fields, keys: readonly K[]): Partial<Record<K, string>> {
  const found: Partial<Record<K, string>> = {};
  for (const key of keys) {
    const value = from[key];
    if (typeof value === 'string' && value !== '') found[key] = value;
  }
  return found;
}

/** Model names become file names, so they are letters, digits and `._-`, and start with a letter or digit. */
const fileSafe = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** @throws JobFormatError. Unknown keys are dropped. */
export function parseJobSpec(value: unknown): JobSpec {
  const from = fields(value, '');
  const limits = fields(from['limits'], 'limits');
  const flags = fields(from['arguments'] ?? {}, 'arguments');
  for (const [key, flag] of Object.entries(flags)) {
    if (!/^[A-Za-z0-9_-]+$/.test(key))
      throw new JobFormatError(`arguments.${key}`, 'may have letters, digits, _ and -');
    if (typeof flag !== 'string') throw new JobFormatError(`arguments.${key}`, 'must be a text');
  }
  const modelName = text(from, 'model_name');
  if (!fileSafe.test(modelName)) {
    throw new JobFormatError(
      'model_name',
      'must be at most 128 letters, digits, ., _ and -, the first a letter or digit',
    );
  }
  return {
    id: text(from, 'id'),
    attempt: integer(from, 'attempt', 1),
    org_id: text(from, 'org_id'),
    kind: choice(from, 'kind', jobKinds),
    model_name: modelName,
    model_version: text(from, 'model_version'),
    labels: list(from, 'labels', textItem),
    arguments: flags as Record<string, string>,
    seed: integer(from, 'seed', 0, 0xffffffff),
    limits: {
      wall_seconds: integer(limits, 'wall_seconds', 1),
      memory_mib: integer(limits, 'memory_mib', 1),
      disk_mib: integer(limits, 'disk_mib', 1),
      ...(limits['gpus'] === undefined ? {} : { gpus: integer(limits, 'gpus', 0, 1024) }),
    },
    deadline: instant(from, 'deadline'),
    ...(from['framework'] === undefined ? {} : { framework: choice(from, 'framework', modelFrameworks) }),
    ...(from['script'] === undefined ? {} : { script: jobScript(from['script']) }),
    ...(from['model'] === undefined ? {} : { model: jobModel(from['model']) }),
    ...optional(from, ['recipe', 'container_version', 'dataset_id', 'dataset_version_id']),
  };
}

function jobScript(value: unknown): JobScript {
  const from = fields(value, 'script');
  return {
    registry_item_id: text(from, 'registry_item_id'),
    version: text(from, 'version'),
    package_sha256: sha256(from, 'package_sha256'),
  };
}

function jobModel(value: unknown): JobModel {
  const from = fields(value, 'model');
  return {
    name: text(from, 'name'),
    version: text(from, 'version'),
    package_sha256: sha256(from, 'package_sha256'),
  };
}

/** @throws JobFormatError */
export function parseJobFile(value: unknown): JobFile {
  return { ...parseJobSpec(value), command: list(fields(value, ''), 'command', textItem) };
}

function labelAnnotation(value: unknown, path: string): LabelAnnotation {
  const from = fields(value, path);
  const confidence = from['confidence'];
  return {
    annotation_label: text(from, 'annotation_label'),
    ...(typeof confidence === 'number' ? { confidence } : {}),
  };
}
function boxAnnotation(value: unknown, path: string): BoxAnnotation {
  const from = fields(value, path);
  return {
    ...labelAnnotation(value, path),
    ...optional(from, ['id']),
    x_min_normalized: number(from, 'x_min_normalized', 0, 1),
    y_min_normalized: number(from, 'y_min_normalized', 0, 1),
    x_max_normalized: number(from, 'x_max_normalized', 0, 1),
    y_max_normalized: number(from, 'y_max_normalized', 0, 1),
  };
}

/** @throws JobFormatError */
export function parseDatasetLine(value: unknown): DatasetLine {
  const from = fields(value, '');
  return {
    image_path: textOrEmpty(from, 'image_path'),
    sha256: sha256(from, 'sha256'),
    size_bytes: integer(from, 'size_bytes', 0),
    file_name: textOrEmpty(from, 'file_name'),
    split: choice(from, 'split', splits),
    classification_annotations: list(from, 'classification_annotations', labelAnnotation),
    bounding_box_annotations: list(from, 'bounding_box_annotations', boxAnnotation),
    timestamp: textOrEmpty(from, 'timestamp'),
    part_id: textOrEmpty(from, 'part_id'),
    component_name: textOrEmpty(from, 'component_name'),
    ...optional(from, ['binary_data_id', 'organization_id', 'robot_id', 'location_id', 'group']),
    ...(from['split_chosen'] === true ? { split_chosen: true } : {}),
  };
}

const levels = ['debug', 'info', 'warn', 'error'] as const;

/** @throws JobFormatError */
export function parseJobEvent(value: unknown): JobEvent {
  const from = fields(value, '');
  const head = { sequence: integer(from, 'sequence', 1), time: instant(from, 'time') };
  const is = choice(from, 'is', ['progress', 'metric', 'log', 'warning', 'error']);
  switch (is) {
    case 'progress': {
      const eta = from['eta_seconds'] === undefined ? {} : { eta_seconds: number(from, 'eta_seconds', 0, 1e9) };
      return { ...head, is, phase: choice(from, 'phase', jobPhases), progress: number(from, 'progress', 0, 1), ...eta };
    }
    case 'metric': {
      const values = fields(from['values'], 'values');
      for (const [key, one] of Object.entries(values)) {
        if (typeof one !== 'number' && typeof one !== 'string') {
          throw new JobFormatError(`values.${key}`, 'must be a number or a text');
        }
      }
      return { ...head, is, values: values as Record<string, number | string> };
    }
    case 'log':
      return { ...head, is, level: choice(from, 'level', levels), message: text(from, 'message', { may: 'empty' }) };
    case 'warning':
    case 'error':
      return { ...head, is, code: text(from, 'code'), message: text(from, 'message', { may: 'empty' }) };
  }
}
