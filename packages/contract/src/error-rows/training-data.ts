import type { ErrorRow } from '../error-row.ts';

/** What a training job needs from its dataset. */
export const trainingDataErrors = {
  DATASET_EMPTY: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds no image that can be trained on[: {problem}].',
    remedy:
      'Compare what was asked for with what the dataset has (platform dataset show): ask for labels that it has, or add images with the labels, for a detector with boxes.',
  },
  DATASET_TOO_LARGE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds {count} pictures; one job takes at most {limit}.',
    remedy: 'Train on a part of it: make a dataset with fewer pictures.',
  },
  DATASET_TOO_SMALL: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds {count} pictures; an object detector needs at least {limit}.',
    remedy: 'Add pictures with bounding boxes to the dataset.',
  },
  IMAGES_UNREADABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'None of the {count} images can be decoded: {problem}[; for example {examples}].',
    remedy:
      'Upload JPEG, PNG or WebP files that an image viewer opens. Convert other formats (HEIC, TIFF, BMP, GIF, RAW) first: a new extension does not do that.',
  },
  LABELS_AMBIGUOUS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Every labelled picture carries several of the requested labels[ ({count} pictures)].',
    remedy: 'Give each picture one of the labels, or train a multi-label model.',
  },
  TOO_FEW_BOXES: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Label "{label}" has {count} bounding boxes; at least {limit} are needed[. Boxes per label: {counts}].',
    remedy: 'Draw more boxes with this label, or leave the label out.',
  },
  TOO_FEW_LABELS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'This model type needs at least {limit} label(s) that occur[; there are {count}][: {counts}][. The dataset has: {found}].',
    remedy: 'Name labels that the dataset has, spelt as there, or label images with the missing ones.',
  },
  TOO_FEW_PICTURES: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Label "{label}" has {count} pictures; at least {limit} are needed[. Pictures per label: {counts}].',
    remedy: 'Add pictures with this label, or leave the label out.',
  },
  TOO_MANY_UNLABELED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      '{count} pictures carry none of the requested labels[, for example {examples}]; with {total} labels in all at most {limit} may[. The dataset also has: {found}].',
    remedy: 'Label them, name their labels in tags, or take them out of the dataset.',
  },
  FRAMEWORK_NOT_SUPPORTED: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'Built-in training does not make {framework} models[ of type {modelType}]; it makes {made}.',
    remedy: 'Choose one of these or leave model_framework unset, or submit a custom training script.',
  },
} as const satisfies Record<string, ErrorRow>;
