import { rmSync } from 'node:fs';
import path from 'node:path';
import { removeAccounts } from './accounts.ts';
import { places } from './places.ts';
import { currentLink } from './state.ts';
import { targetOf } from './system.ts';
import { removeUnits } from './unit-files.ts';

/** Removes programs and units. Settings, data and users stay unless `deletesData`. */
export function uninstall(deletesData: boolean): void {
  removeUnits();
  if (targetOf(places.command) === path.join(currentLink, 'platform')) rmSync(places.command);
  rmSync(places.programs, { recursive: true, force: true });
  for (const cache of ['platform-management', 'platform-management-runner'])
    rmSync(path.join('/var/cache', cache), { recursive: true, force: true });
  if (!deletesData) return;
  rmSync(places.settings, { recursive: true, force: true });
  rmSync(places.data, { recursive: true, force: true });
  removeAccounts();
}
