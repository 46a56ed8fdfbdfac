// Replaces the data of the installed server by a snapshot of a backup. The snapshot is restored beside the data, while the
// server runs: a failure changes nothing. Then both change places.
import { chmodSync, existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { prepareAccounts } from './accounts.ts';
import { writeKeysOfFirstStart } from './first-start.ts';
import { finishSwitch } from './install.ts';
import { places, units } from './places.ts';
import { untilReady } from './readiness.ts';
import { readServerOptions } from './server-options.ts';
import { currentVersion, endReplacement, isReplacing, writeReplacement } from './state.ts';
import { swapFolders } from './swap-folders.ts';
import { attempt, flush, must, systemctl } from './system.ts';

const fresh = path.join(places.data, 'restored');
const replaced = path.join(places.state, 'replaced');

export interface Replacement {
  /** Restores the snapshot into an empty folder. @returns whether it did. */
  restore(dataFolder: string): Promise<boolean>;
  readonly readyWithinS: number;
  say(text: string): void;
}

/**
 * @returns the folder with the replaced data; undefined: nothing was restored, and the server runs as before.
 * @throws PlatformError NOT_INSTALLED, INVALID_ARGUMENT, SERVER_NOT_READY
 */
export async function replaceData({ restore, readyWithinS, say }: Replacement): Promise<string | undefined> {
  const version = currentVersion();
  if (version === undefined) throw new PlatformError('NOT_INSTALLED', {});
  await finishSwitch(say);
  // A lost data folder has neither the folder of the server nor that of the runner. While folders change places, an
  // empty one would be in the way.
  if (!isReplacing()) prepareAccounts();
  await refuseOtherPlaces();
  if (isReplacing()) say('A replacement of the data was interrupted. It goes on now …');
  else if (await restoreBeside(restore)) {
    rmSync(replaced, { recursive: true, force: true }); // of an earlier replacement
    await writeReplacement();
  } else return undefined;
  systemctl('stop', units.runner, units.server);
  swap();
  await endReplacement();
  // Without their folders, both may have failed as often as systemd allows.
  attempt('systemctl', 'reset-failed', units.server, units.runner);
  systemctl('start', units.server);
  const problem = await untilReady(version, readyWithinS);
  if (problem !== undefined)
    throw new PlatformError('SERVER_NOT_READY', {
      version,
      problem: `the restored data are in use, the data before are in ${replaced}; ${problem}`,
    });
  // The server has just written them; before its start, a lost data folder has none.
  await writeKeysOfFirstStart();
  systemctl('restart', units.runner);
  attempt('systemctl', 'start', units.maintenance);
  return replaced;
}

/** @throws PlatformError INVALID_ARGUMENT where a change of folders would not change the data. */
async function refuseOtherPlaces(): Promise<void> {
  const cloud = path.join(places.data, 'cloud');
  const refuse = (limit: string): never => {
    throw new PlatformError('INVALID_ARGUMENT', { field: '--replace', value: cloud, limit });
  };
  if ((await readServerOptions()).database_url !== undefined)
    refuse('an embedded database; set DATABASE_URL to an empty one, and restore with --data-dir into a new folder');
  if (existsSync(cloud) && statSync(cloud).dev !== statSync(places.data).dev)
    refuse('a folder of the same disk; stop the server, empty the folder, and restore with --data-dir');
}

async function restoreBeside(restore: Replacement['restore']): Promise<boolean> {
  const cloud = path.join(fresh, 'cloud');
  // A complete one of an earlier try is not known to be of this snapshot; an incomplete one is begun anew.
  if (!existsSync(path.join(cloud, 'restoring.json'))) rmSync(fresh, { recursive: true, force: true });
  // Root's: during the restore, the database runs as the account that root gives it, which must get through.
  mkdirSync(cloud, { recursive: true });
  chmodSync(fresh, 0o755);
  chmodSync(cloud, 0o711);
  return restore(cloud);
}

/** Can be repeated after an interruption. */
function swap(): void {
  swapFolders({ fresh, data: places.data, replaced });
  const { server } = prepareAccounts();
  must('chown', '-R', `${server.uid}:${server.gid}`, path.join(places.data, 'cloud'));
  must('chmod', '700', path.join(places.data, 'cloud'));
  if (existsSync(path.join(places.data, 'release-keys')))
    must('chown', '-R', 'root:root', path.join(places.data, 'release-keys'));
  flush(places.data);
  rmSync(fresh, { recursive: true, force: true });
}
