// What an upgrade to another major version leaves in the folder of the database's files. The new database gets its name
// only when it is proven, so each version of the platform finds a whole database or none at any moment:
//   17/             the old one, until the new one is in its place
//   upgrade/        the new one and the rows, until then
//   18/             the new one
//   17-old/         the old one from then on
//   upgraded.json   which they are, and what the old one was when its rows were read
// Decision 0086.
import { createHash } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Log } from '@platform/kit';
import { atomicWrite, readJson } from '@platform/kit/node';

/** `state`: hash of the old database's control file, which each start changes. */
type Note = { from: string; to: string; state: string };

const noteIn = (home: string): string => path.join(home, 'upgraded.json');
export const upgradeFolder = (home: string): string => path.join(home, 'upgrade');
export const keptFolder = (home: string, major: string): string => path.join(home, `${major}-old`);
const removedPrefix = 'removed-';

/** Gives the proven database in `upgrade` its name. The old one, which does not run, is kept. */
export async function putInPlace(home: string, { from, to }: Pick<Note, 'from' | 'to'>, log: Log): Promise<void> {
  const note: Note = { from, to, state: await stateOf(path.join(home, from)) };
  await atomicWrite(noteIn(home), `${JSON.stringify(note)}\n`);
  await rename(path.join(upgradeFolder(home), to), path.join(home, to));
  await syncFolder(home);
  await endUpgrade(home, log);
}

/**
 * Puts the old database aside, if the new one is in its place.
 *
 * @returns its major version; undefined: there was none.
 * @throws PlatformError DATABASE_USED_AFTER_UPGRADE if an older version started the old one meanwhile.
 */
export async function endUpgrade(home: string, log: Log): Promise<string | undefined> {
  const note = (await readJson(noteIn(home))) as Note | undefined;
  if (!note) return undefined;
  const { from, to, state } = note;
  const old = path.join(home, from);
  if (!(await exists(path.join(home, to))) || !(await exists(old))) return undefined;
  if ((await stateOf(old)) !== state)
    throw new PlatformError('DATABASE_USED_AFTER_UPGRADE', { path: home, found: from, known: to });
  await rename(old, keptFolder(home, from));
  await syncFolder(home);
  log.info('the old database is put aside', { folder: keptFolder(home, from) });
  return from;
}

/** Deletes the databases that upgrades put aside. @returns their folders. */
export async function deleteKept(home: string): Promise<string[]> {
  const removed: string[] = [];
  for (const name of await readdir(home)) {
    const isKept = /^\d+-old$/.test(name);
    if (!isKept && !name.startsWith(removedPrefix)) continue;
    // A half of it must not look like the whole.
    const aside = path.join(home, isKept ? `${removedPrefix}${name}` : name);
    if (isKept) await rename(path.join(home, name), aside);
    await rm(aside, { recursive: true, force: true });
    if (isKept) removed.push(path.join(home, name));
  }
  return removed;
}

const stateOf = async (files: string): Promise<string> =>
  createHash('sha256')
    .update(await readFile(path.join(files, 'global', 'pg_control')))
    .digest('hex');

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}
