import type { ErrorRow } from '../error-row.ts';

/** Data: files, images, sequences, datasets. */
export const dataErrors = {
  BLOB_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The file with sha256 {sha256} was not uploaded.',
    remedy: 'Upload it with PUT /blobs/<sha256> first, then repeat the call.',
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
    message: 'The file[ of {sizeBytes} bytes] is larger than the limit of {limitBytes} bytes.',
    remedy: 'Send a smaller file, or split it: this limit is fixed.',
  },
  HASH_MISMATCH: {
    rpc: 'data_loss',
    http: 422,
    retry: 'now',
    message:
      'The bytes received[ for {path}] have another sha256 than announced[: {gotSha256} instead of {wantSha256}].',
    remedy: 'Send the file again; nothing was stored.',
  },
  RANGE_NOT_SATISFIABLE: {
    rpc: 'out_of_range',
    retry: 'never',
    message: 'The range[ {range}] lies outside of the file[ of {sizeBytes} bytes].',
    remedy: 'Ask for a range inside of the file, or for the whole of it.',
  },
  BINARY_DATA_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no picture or file[ {binaryDataId}].',
    remedy: 'Check binary_data_id; data of other organizations is not visible.',
  },
  BOUNDING_BOX_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no bounding box[ {boundingBoxId}] in this picture.',
    remedy: 'Check bbox_id; ask for the picture again to see its boxes.',
  },
  INVALID_PICTURE: {
    rpc: 'invalid_argument',
    retry: 'never',
    message: 'The picture[ {name}] cannot be decoded[: {problem}].',
    remedy: 'Send a JPEG, PNG or WebP file that an image viewer opens.',
  },
  INCLUDE_BINARY_TOO_LARGE: {
    rpc: 'resource_exhausted',
    retry: 'never',
    message:
      'The contents asked for are larger than the limit of {limitBytes} bytes of one answer[: {sizeBytes} bytes].',
    remedy: 'Ask for fewer at once, or without include_binary, and download each from its uri.',
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
    message: 'There is no sequence with id {sequenceId}.',
    remedy: 'Check the id: ListSequences lists the sequences of an organization.',
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
    message: 'The organization has a dataset named "{name}" already.',
    remedy: 'Choose another name, or use the dataset that exists.',
  },
  DATASET_TYPE_MISMATCH: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'The dataset[ {datasetId}] holds {type}; this call is for {wanted}.',
    remedy: 'Use a dataset of the other type: create one with the type you need.',
  },
  DATASET_EXPORT_NOT_FOUND: {
    rpc: 'not_found',
    retry: 'never',
    message: 'There is no export of a dataset[ with id {jobId}].',
    remedy: 'Exports and their files are kept for a day; start the export again.',
  },
} as const satisfies Record<string, ErrorRow>;
