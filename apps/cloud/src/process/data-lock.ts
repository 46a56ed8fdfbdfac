import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { FolderLocked, type FolderLock, lockFolder } from '@platform/kit/node';

/** Locks a data folder for this process. @throws PlatformError DATA_DIR_IN_USE */
export async function lockData(dataFolder: string): Promise<FolderLock> {
  try {
    return await lockFolder(path.join(dataFolder, 'server.lock'));
  } catch (error) {
    if (error instanceof FolderLocked)
      throw new PlatformError('DATA_DIR_IN_USE', { path: dataFolder, pid: error.pid }, error);
    throw error;
  }
}
