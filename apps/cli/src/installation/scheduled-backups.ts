// Scheduled backups of an installed server are made by a timer, as root: only root reads the keys that sign releases, and
// whoever takes over the server cannot delete them.
import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText } from '@platform/kit';
import { places } from './places.ts';
import type { ServerOptions } from './server-options.ts';

/** The unit of the backup has temporary folders of its own. */
const hiddenFromUnit = ['/tmp', '/var/tmp'];

/** Refuses a folder that cannot hold backups, before anything is changed. @throws PlatformError BACKUP_FOLDER_UNUSABLE */
export function checkBackupFolder(folder: string): void {
  const refuse = (problem: string, cause?: unknown): PlatformError =>
    new PlatformError('BACKUP_FOLDER_UNUSABLE', { path: folder, problem }, cause);
  const real = existsSync(folder) ? realpathSync(folder) : folder;
  const hidden = hiddenFromUnit.find((one) => isWithin(real, one));
  if (hidden !== undefined) throw refuse(`${hidden} is emptied by the system`);
  if (isWithin(real, places.data) || isWithin(places.data, real))
    throw refuse(`it contains the data folder ${places.data}, or lies in it`);
  let names: string[];
  try {
    names = existsSync(folder) ? readdirSync(folder) : [];
  } catch (error) {
    throw refuse(errorText(error), error);
  }
  const foreign = names.find((name) => name !== 'lost+found' && !name.startsWith('backup.lock'));
  if (foreign !== undefined && !names.includes('platform-backup.json'))
    throw refuse(`it holds other files, for example ${foreign}`);
}

const isWithin = (inner: string, outer: string): boolean =>
  inner === outer || inner.startsWith(outer === '/' ? outer : `${outer}/`);

/** The schedule of the timer; undefined: none, or the server makes the backups itself. */
export function scheduleOf(options: ServerOptions):
  | {
      folder: string;
      everyHours: number;
      keep: number;
      databaseUrl: string | undefined;
      passphrase: string | undefined;
    }
  | undefined {
  const { backup_dir: folder, backup_by_host: isByHost, backup_every_hours: every, backup_keep: keep } = options;
  if (typeof folder !== 'string' || isByHost !== true) return undefined;
  const { backup_passphrase: passphrase } = options;
  return {
    folder,
    everyHours: typeof every === 'number' ? every : 24,
    keep: typeof keep === 'number' ? keep : 14,
    databaseUrl: options.database_url,
    passphrase: typeof passphrase === 'string' ? passphrase : undefined,
  };
}
