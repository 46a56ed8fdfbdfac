import { createReadStream } from 'node:fs';
import { modelArchive } from '@platform/contract/job/archive-rules';
import { unpackModelArchive } from '@platform/sandbox/model-archive';

/** Limits of the unpacked size. */
const unpackLimits = modelArchive.limits;

/**
 * Unpacks a .tar.gz into `folder`, which must exist and be empty. Accepts only regular files and folders inside
 * `folder`; any other entry rejects the whole archive. After an error, the caller must discard the folder.
 *
 * @throws PlatformError MODEL_ARCHIVE_INVALID; errors of the disk.
 */
export async function unpack(archive: string, folder: string, limits = unpackLimits): Promise<void> {
  await unpackModelArchive(createReadStream(archive), folder, limits);
}
