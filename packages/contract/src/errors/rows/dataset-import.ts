import type { ErrorRow } from '../error-row.ts';

/** Imports of images with their labels and boxes. */
export const datasetImportErrors = {
  IMPORT_FORMAT_UNCLEAR: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nothing was uploaded: {problem}.',
    remedy: 'Add what is missing, or choose the format of the folder: {formats}.',
  },
  IMPORT_INVALID: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nothing was uploaded: {count} annotations or files in {folder} are invalid: {problems}.',
    remedy: 'Correct them, or skip them with --skip-invalid.',
  },
  IMPORT_IMAGES_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nothing was uploaded: {count} of {total} annotated images are not in {folder}: {examples}.',
    remedy: 'Choose the folder that holds the images, or upload the others with --allow-missing.',
  },
  IMPORT_LOSS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nothing was uploaded: parts of {folder} would be left out, which --strict does not allow: {problems}.',
    remedy: 'Correct the files, or upload without --strict: the rest is uploaded, and the exit code is 9.',
  },
} as const satisfies Record<string, ErrorRow>;
