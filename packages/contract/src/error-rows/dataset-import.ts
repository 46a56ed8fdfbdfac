import type { ErrorRow } from '../error-row.ts';

/** Imports of images with their labels and boxes. */
export const datasetImportErrors = {
  IMPORT_FORMAT_UNCLEAR: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nothing was uploaded: {problem}.',
    remedy: 'Add what is missing, or choose how the folder is to be read: {formats}.',
  },
  IMPORT_INVALID: {
    rpc: 'failed_precondition',
    retry: 'never',
    message:
      'Nothing was uploaded: {folder} has annotations or files that cannot be understood, {count} in all: {problems}.',
    remedy: 'Correct them, or leave them out with --skip-invalid.',
  },
  IMPORT_IMAGES_MISSING: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nothing was uploaded: {count} of {total} annotated images are not in {folder}: {examples}.',
    remedy: 'Choose the folder that holds the images, or upload without them with --allow-missing.',
  },
  IMPORT_LOSS: {
    rpc: 'failed_precondition',
    retry: 'never',
    message: 'Nothing was uploaded: --strict allows no loss, and something of {folder} would be left out: {problems}.',
    remedy: 'Correct the files, or upload without --strict: the rest is uploaded, and the exit code is 9.',
  },
} as const satisfies Record<string, ErrorRow>;
