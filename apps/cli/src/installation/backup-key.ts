// The key file that proves which backups the installation made. A copy beside the settings outlives the data folder, so a
// restore after its loss needs nothing from elsewhere.
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { checkout, defaultDataFolder } from '../data-folder.ts';
import { places } from './places.ts';
import { attempt } from './system.ts';

const file = path.join(places.settings, 'backup-key.json');

/** What a restore and a check may trust on this host; undefined: there is none that this user can read. */
export const hostKeyFile = (): string | undefined =>
  [file, path.join(defaultDataFolder(), 'cloud', 'secrets.json')].find(isReadable);

function isReadable(one: string): boolean {
  try {
    accessSync(one, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Writes the key file of the installed server, if it is missing or that of another installation. */
export function keepBackupKey(): void {
  const program = path.join(checkout, 'apps', 'cloud', 'src', 'admin.ts');
  // Without it the server works, and the hourly maintenance tries again.
  attempt(process.execPath, program, 'backup-key', '--data-dir', path.join(places.data, 'cloud'), '--', file);
}
