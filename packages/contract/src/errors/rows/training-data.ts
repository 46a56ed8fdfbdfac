import type { ErrorRow } from '../error-row.ts';

/** Requirements of a training job on its dataset. */
export const trainingDataErrors = {
  DATASET_EMPTY: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds no image that can be trained on[: {problem}].',
    remedy:
      'Compare the requested labels with those of the dataset (platform dataset show). Request labels that it has, or add labeled images; an object detector needs bounding boxes.',
  },
  NOTHING_TO_PREDICT: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset {datasetId} has no image for suggestions: {problem}.',
    remedy: 'Add images, or let the model suggest labels for all images, not only for those without a label.',
  },
  DATASET_TOO_LARGE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] has {count} images; the limit of a job is {limit}.',
    remedy: 'Create a smaller dataset with some of the images.',
  },
  DATASET_TOO_SMALL: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] has {count} images; an object detector needs at least {limit}.',
    remedy: 'Add images with bounding boxes to the dataset.',
  },
  IMAGES_UNREADABLE: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'None of the {count} images can be decoded: {problem}[; for example {examples}].',
    remedy:
      'Upload JPEG, PNG or WebP files that an image viewer opens. Convert other formats (HEIC, TIFF, BMP, GIF, RAW) first; renaming a file does not convert it.',
  },
  NOTHING_HELD_OUT: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'No image of the dataset[ {datasetId}] can be held out, so no score could be measured: {problem}.',
    remedy:
      'Add images of other objects or scenes: images of one group and identical files stay in one split, and a label with fewer than 3 groups or distinct images is not held out. Or tag images split:test.',
  },
  LABELS_AMBIGUOUS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Every labeled image has more than one of the requested labels[ ({count} images)].',
    remedy: 'Leave one of these labels on each image, or train a multi-label model.',
  },
  TOO_FEW_BOXES: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Label "{label}" has {count} bounding boxes[ to train on: {problem}]; the minimum is {limit}[. Boxes per label: {counts}].',
    remedy: 'Draw more boxes with this label, or omit the label.',
  },
  TOO_FEW_LABELS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'This model type needs at least {limit} label(s) with images[; there are {count}][: {counts}][. The dataset has: {found}].',
    remedy: 'Request labels exactly as the dataset spells them, or label images with the missing ones.',
  },
  TOO_FEW_IMAGES: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Label "{label}" has {count} images[ to train on: {problem}]; the minimum is {limit}[. Images per label: {counts}].',
    remedy: 'Add images with this label, or omit the label.',
  },
  TOO_MANY_UNLABELED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      '{count} of {total} images have none of the requested labels[, for example {examples}]; the limit is {limit}[. The dataset also has: {found}].',
    remedy: 'Label these images, request their labels, or remove them from the dataset.',
  },
  FRAMEWORK_NOT_SUPPORTED: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'Built-in training does not support {framework} models[ of type {modelType}]; it supports {made}.',
    remedy: 'Choose a supported framework, leave model_framework unset, or submit a custom training script.',
  },
} as const satisfies Record<string, ErrorRow>;
