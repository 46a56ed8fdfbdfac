import { chmodSync, chownSync, existsSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { places, users } from './places.ts';
import { attempt, must } from './system.ts';

export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** Creates the system user if it is missing. The group comes first, so that an interrupted creation can be repeated. */
function createAccount(name: string): void {
  if (attempt('getent', 'group', name).code !== 0) must('groupadd', '--system', name);
  if (attempt('id', '-u', name).code !== 0)
    must(
      'useradd',
      '--system',
      '--gid',
      name,
      '--no-create-home',
      '--home-dir',
      places.data,
      '--shell',
      '/usr/sbin/nologin',
      name,
    );
}

function find(name: string): Account {
  return { uid: Number(must('id', '-u', name)), gid: Number(must('id', '-g', name)) };
}

/** @throws Error if a user is missing. */
export const knownAccounts = (): Accounts => ({ server: find(users.server), runner: find(users.runner) });

export interface Accounts {
  readonly server: Account;
  readonly runner: Account;
}

/** Creates users and folders. Each can be repeated; data of an earlier installation stay. */
export function prepareAccounts(): Accounts {
  for (const name of Object.values(users)) createAccount(name);
  const accounts = knownAccounts();
  const folder = (name: string, mode: number, owner?: Account): void => {
    mkdirSync(name, { recursive: true });
    chmodSync(name, mode);
    if (owner) chownSync(name, owner.uid, owner.gid);
  };
  for (const name of [places.programs, places.settings, places.data]) folder(name, 0o755);
  folder(path.join(places.settings, 'tls'), 0o755);
  folder(places.state, 0o700);
  folder(path.join(places.data, 'release-keys'), 0o700);
  adopt(path.join(places.data, 'cloud'), accounts.server, folder);
  adopt(path.join(places.data, 'runner'), accounts.runner, folder);
  return accounts;
}

/** Data that were copied here belong to another user. */
function adopt(name: string, owner: Account, folder: (name: string, mode: number, owner: Account) => void): void {
  const isNew = !existsSync(name);
  folder(name, 0o700, owner);
  if (!isNew && must('find', name, '-maxdepth', '2', '!', '-user', String(owner.uid), '-print', '-quit') !== '')
    must('chown', '-R', `${owner.uid}:${owner.gid}`, name);
}

export const removeAccounts = (): void => {
  for (const name of Object.values(users)) {
    attempt('userdel', name);
    attempt('groupdel', name);
  }
};
