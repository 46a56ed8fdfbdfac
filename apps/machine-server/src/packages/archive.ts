import { createReadStream } from 'node:fs';
import { modelArchive } from '@platform/contract/archive-rules';
import { unpackModelArchive } from '@platform/sandbox/model-archive';

/** What an archive may unpack to. */
const unpackLimits = modelArchive.limits;

/**
 * Unpacks a .tar.gz into `folder`, which must exist and be empty. Only plain files and folders inside of `folder` are
 * taken; anything else in the archive refuses it whole, so a half-unpacked folder must be thrown away on an error.
 *
 * @throws PlatformError MODEL_ARCHIVE_INVALID; errors of the disk.
 */
export async function unpack(archive: string, folder: string, limits = unpackLimits): Promise<void> {
  await unpackModelArchive(createReadStream(archive), folder, limits);
}
