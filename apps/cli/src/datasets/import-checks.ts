import { PlatformError } from '@platform/contract/errors/errors';
import { hasLoss } from '@platform/dataset-files/ledger';
import { hasManyMissing, type ImportPlan } from '@platform/dataset-files/planned-images';
import { ledgerGroups, reasonOf } from '@platform/dataset-files/summary';

export interface ImportChoices {
  readonly strict?: boolean;
  readonly skipInvalid?: boolean;
  readonly allowMissing?: boolean;
}

/**
 * Refuses an import before anything is stored.
 *
 * @throws PlatformError: the format is not clear, annotations are invalid, many images are missing, or with --strict
 *   anything is left out.
 */
export function checkImport(plan: ImportPlan, folder: string, choices: ImportChoices): void {
  const { refusal, ledger, images, annotated } = plan;
  if (refusal)
    throw new PlatformError('IMPORT_FORMAT_UNCLEAR', {
      problem: refusal.problem,
      formats: refusal.formats.map((format) => `--format ${format}`).join(', '),
    });
  const groups = ledgerGroups(ledger);
  const linesOf = (outcome: string): string =>
    groups
      .filter((group) => group.outcome === outcome)
      .map((group) => reasonOf(group))
      .join('; ');
  if (ledger.counts.invalid > 0 && !choices.skipInvalid)
    throw new PlatformError('IMPORT_INVALID', { count: ledger.counts.invalid, folder, problems: linesOf('invalid') });
  const missing = ledger.missing.length;
  if (hasManyMissing(plan) && !choices.allowMissing)
    throw new PlatformError('IMPORT_IMAGES_MISSING', {
      count: missing,
      total: annotated + missing,
      folder,
      examples: ledger.missing.slice(0, 5).join(', '),
    });
  if (images.length === 0)
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'folder',
      value: folder,
      limit: 'a folder with JPEG, PNG or WebP files',
    });
  if (choices.strict && hasLoss(ledger))
    throw new PlatformError('IMPORT_LOSS', {
      folder,
      problems: [linesOf('invalid'), linesOf('left out')].filter(Boolean).join('; '),
    });
}
