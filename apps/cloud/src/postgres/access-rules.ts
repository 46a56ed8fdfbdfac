// Only the user that runs the management server may connect, over the socket, as one of two roles.
import { open, readFile, rename, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Account } from './account.ts';

/**
 * The bootstrap superuser, only for the administration of the cluster. PostgreSQL does not permit reducing its rights.
 */
export const adminRole = 'platform';
/** Owner of the server's database, without any right on the cluster. */
export const appRole = 'platform_app';

/** Files of the data folder with their content. */
export type AccessRules = readonly (readonly [file: string, text: string])[];

const mapName = 'server';
const note = '# Written by the management server, which replaces any other content at its next start.\n';

/**
 * @param userName - of the management server; PostgreSQL looks up the user name of the connecting process.
 * @throws PlatformError DATABASE_UNAVAILABLE if our user has no name.
 */
export function accessRules(userName = ownName()): AccessRules {
  const quoted = `"${userName.replaceAll('"', '""')}"`;
  const roles = [adminRole, appRole];
  return [
    ['pg_ident.conf', note + roles.map((role) => `${mapName} ${quoted} ${role}\n`).join('')],
    ['pg_hba.conf', note + roles.map((role) => `local all ${role} peer map=${mapName}\n`).join('')],
  ];
}

function ownName(): string {
  try {
    return os.userInfo().username;
  } catch {
    throw new PlatformError('DATABASE_UNAVAILABLE', {
      problem: `user ${process.getuid?.()} has no name: add it to /etc/passwd, or give a database with --database-url`,
    });
  }
}

export async function hasRules(folder: string, rules: AccessRules): Promise<boolean> {
  for (const [name, text] of rules) {
    if ((await readFile(path.join(folder, name), 'utf8').catch(() => undefined)) !== text) return false;
  }
  return true;
}

/** Writes each file atomically. pg_hba.conf, which grants access, comes last. */
export async function writeRules(folder: string, account: Account, rules: AccessRules): Promise<void> {
  for (const [name, text] of rules) {
    const file = path.join(folder, name);
    await rm(`${file}.new`, { force: true });
    await using handle = await open(`${file}.new`, 'wx', 0o600);
    if (account) await handle.chown(account.uid, account.gid);
    await handle.writeFile(text);
    await handle.sync();
    await rename(`${file}.new`, file);
  }
  await using parent = await open(folder, 'r');
  await parent.sync();
}
