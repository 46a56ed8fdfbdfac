/** The archive of a model version: checked on upload, and unpacked under the same rules on every use. */
import { ArchiveRules, modelArchive, type ArchiveLimits } from '@platform/contract/job/archive-rules';
import { readArchive, skip, writeBelow, type Bytes } from './archive-reader.ts';

export interface ModelArchive {
  /** Paths of regular files, relative, with slashes, in order. */
  readonly files: readonly string[];
  readonly unpackedBytes: number;
}

/** @throws PlatformError MODEL_ARCHIVE_INVALID; errors of the source. */
export async function checkModelArchive(
  source: Bytes,
  limits: ArchiveLimits = modelArchive.limits,
): Promise<ModelArchive> {
  return finish(source, limits, skip);
}

/**
 * Unpacks the archive into `folder`, which must exist and be empty. After an error, the caller must discard its
 * content.
 *
 * @throws PlatformError MODEL_ARCHIVE_INVALID; errors of the disk and of the source.
 */
export async function unpackModelArchive(
  source: Bytes,
  folder: string,
  limits: ArchiveLimits = modelArchive.limits,
): Promise<ModelArchive> {
  return finish(source, limits, writeBelow(folder, { programs: false }));
}

async function finish(source: Bytes, limits: ArchiveLimits, take: typeof skip): Promise<ModelArchive> {
  const rules = new ArchiveRules({ ...modelArchive, limits });
  await readArchive(source, rules, take);
  return { files: [...rules.files].toSorted(), unpackedBytes: rules.unpackedBytes };
}
