import type { ErrorRow } from '../error-row.ts';

/** Data: files, images, sequences, datasets. */
export const dataErrors = {
  BLOB_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The file with sha256 {sha256} has not been uploaded.',
    remedy: 'Upload it with PUT /blobs/<sha256>, then repeat the call.',
  },
  BLOB_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no file with sha256 {sha256}.',
    remedy: 'Check the sha256; files of other organizations are not visible.',
  },
  BLOB_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The file[ of {sizeBytes} bytes] exceeds the limit of {limitBytes} bytes.',
    remedy: 'Send a smaller file, or split it. This limit cannot be changed.',
  },
  HASH_MISMATCH: {
    rpc: 'data_loss',
    http: 422,
    retry: 'now',
    message: 'The sha256 of the received bytes[ of {path}] is wrong[: expected {wantSha256}, received {gotSha256}].',
    remedy: 'Nothing was stored. Send the file again.',
  },
  RANGE_NOT_SATISFIABLE: {
    rpc: 'out_of_range',
    retry: 'never',
    message: 'The range[ {range}] lies outside the file[ of {sizeBytes} bytes].',
    remedy: 'Request a range inside the file, or the whole file.',
  },
  BINARY_DATA_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no image or file[ {binaryDataId}].',
    remedy: 'Check binary_data_id; data of other organizations is not visible.',
  },
  BOUNDING_BOX_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no bounding box[ {boundingBoxId}] in this image.',
    remedy: 'Check bbox_id; read the image again to see its boxes.',
  },
  LABELS_CHANGED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The labels of image {binaryDataId} changed in the meantime: they are {labels}, not {expected}.',
    remedy: 'Nothing was saved. Read the image again and decide which labels are right.',
  },
  BOUNDING_BOX_CHANGED: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The bounding box {boundingBoxId} changed in the meantime; its label is now {label}.',
    remedy: 'Nothing was saved. Read the image again and decide which box is right.',
  },
  INVALID_IMAGE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The image[ {name}] cannot be decoded[: {problem}].',
    remedy: 'Send a JPEG, PNG or WebP file that an image viewer opens.',
  },
  IMAGE_NOT_USABLE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: '{name} {problem}.',
    remedy:
      'Send JPEG, PNG or WebP files of at most 100 megapixels that an image viewer opens. Convert other formats; renaming a file does not convert it.',
  },
  INCLUDE_BINARY_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message: 'The requested contents exceed the limit of {limitBytes} bytes per answer[: {sizeBytes} bytes].',
    remedy: 'Request fewer items per call, or omit include_binary and download each item from its uri.',
  },
  FILTER_EMPTY: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The filter has no condition, so this call would delete all data of the organization.',
    remedy: 'Add a condition. To delete everything, set interval.start to 1970-01-01T00:00:00Z.',
  },
  SEQUENCE_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no sequence {sequenceId}.',
    remedy: 'Check the ID; ListSequences lists the sequences of an organization.',
  },
  DATASET_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no dataset[ {datasetId}].',
    remedy: 'Check dataset_id; datasets of other organizations are not visible.',
  },
  DATASET_NAME_TAKEN: {
    rpc: 'already_exists',
    retry: 'never',
    message: 'The organization already has a dataset named "{name}".',
    remedy: 'Choose another name, or use the existing dataset.',
  },
  DATASET_TYPE_MISMATCH: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds {type}; this call requires {wanted}.',
    remedy: 'Use or create a dataset of the required type.',
  },
  DATASET_EXPORT_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no dataset export[ {jobId}].',
    remedy: 'Start the export again: exports and their files are deleted after one day.',
  },
} as const satisfies Record<string, ErrorRow>;
