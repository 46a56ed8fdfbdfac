import { stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';

/** Exists while a restore writes into the data folder. */
export const restoringFile = (dataFolder: string): string => path.join(dataFolder, 'restoring.json');

/** @throws PlatformError RESTORE_INCOMPLETE */
export async function refuseIncomplete(dataFolder: string): Promise<void> {
  if (await stat(restoringFile(dataFolder)).catch(() => undefined))
    throw new PlatformError('RESTORE_INCOMPLETE', { path: dataFolder });
}
