/** The archive of a model version: checked when it is sent, and unpacked under the same rules wherever it is used. */
import { ArchiveRules, modelArchive, type ArchiveLimits } from '@platform/contract/archive-rules';
import { readArchive, skip, writeBelow, type Bytes } from './archive-reader.ts';

export interface ModelArchive {
  /** Regular files, relative and with slashes, in order. */
  readonly files: readonly string[];
  readonly unpackedBytes: number;
}

/** @throws PlatformError MODEL_ARCHIVE_INVALID; whatever the source throws. */
export async function checkModelArchive(
  source: Bytes,
  limits: ArchiveLimits = modelArchive.limits,
): Promise<ModelArchive> {
  return finish(source, limits, skip);
}

/**
 * Unpacks it into `folder`, which must be there and empty; what lies in it after an error must be thrown away.
 *
 * @throws PlatformError MODEL_ARCHIVE_INVALID; errors of the disk; whatever the source throws.
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
