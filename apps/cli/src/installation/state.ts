import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { atomicWrite, readJson } from '@platform/kit/node';
import { places } from './places.ts';
import { flush, targetOf } from './system.ts';

/** A switch to another version in progress. */
export interface Switch {
  /** Null: the first installation. */
  readonly from: string | null;
  readonly to: string;
  /**
   * prepare: the older version is in use. restore: data of the previous version is being restored. trial: the newer version is
   * in use, not yet proven. revert: the older version is being put back into use.
   */
  readonly stage: 'prepare' | 'restore' | 'trial' | 'revert';
  /** Whether the older version cannot read what the newer one writes. */
  readonly hasNewSchema: boolean;
  /** A snapshot whose data the version needs, in a rollback to the previous version. */
  readonly restore: string | null;
  /** Snapshot of the data before the switch; set once the stage prepare is over. */
  readonly snapshot: string | null;
  readonly readyWithinS: number;
  /** ms since 1970. */
  readonly startedAt: number;
  /** Why the newer version is reverted; absent in the other stages. */
  readonly problem?: string;
}

export interface Outcome {
  readonly to: string;
  readonly startedAt: number;
  readonly outcome: 'done' | 'reverted' | 'failed';
  readonly reason: string;
}

/** The version before the current one. */
export interface Previous {
  readonly version: string;
  /** Snapshot of its data at the switch. Null: it has none, or the database is on another host. */
  readonly snapshot: string | null;
  /** ms since 1970. */
  readonly switchedAt: number;
}

const file = (name: string): string => path.join(places.state, `${name}.json`);
const read = async <T>(name: string): Promise<T | undefined> => (await readJson(file(name))) as T | undefined;
const write = async (name: string, value: object): Promise<void> => {
  mkdirSync(places.state, { recursive: true, mode: 0o700 });
  await atomicWrite(file(name), `${JSON.stringify(value, null, 1)}\n`, { mode: 0o600 });
};

export const readSwitch = (): Promise<Switch | undefined> => read<Switch>('switch');
export const writeSwitch = (value: Switch): Promise<void> => write('switch', value);
export const readOutcome = (): Promise<Outcome | undefined> => read<Outcome>('last-switch');
export const readPrevious = (): Promise<Previous | undefined> => read<Previous>('previous');
export const writePrevious = (value: Previous): Promise<void> => write('previous', value);

/** The outcome is on the disk before the switch is forgotten. */
export async function endSwitch(outcome: Outcome): Promise<void> {
  await write('last-switch', outcome);
  rmSync(file('switch'), { force: true });
  flush(places.state);
}

/** Exists from when the restored data is complete until it is in use. */
export const isReplacing = (): boolean => existsSync(file('replacing'));
export const writeReplacement = (): Promise<void> => write('replacing', {});
export async function endReplacement(): Promise<void> {
  rmSync(file('replacing'), { force: true });
  flush(places.state);
}

/** While this file exists, the data is incomplete and the server must not start. */
export const restoring = path.join(places.state, 'restoring');

export const versionFolder = (version: string): string => path.join(places.programs, version);
export const currentLink = path.join(places.programs, 'current');
export const provenLink = path.join(places.programs, 'proven');

/** The version in use; undefined: none is installed. */
export const currentVersion = (): string | undefined => targetOf(currentLink);

/** The migrations of the database that a version knows. */
export function schemaOf(version: string): string {
  const folder = path.join(versionFolder(version), 'apps/cloud/src/database/migrations');
  const { postgres } = JSON.parse(readFileSync(path.join(versionFolder(version), 'release.json'), 'utf8')) as {
    postgres: string;
  };
  return [`postgres ${postgres.split('.')[0]}`, ...readdirSync(folder).toSorted()].join('\n');
}

export const installedVersions = (): string[] =>
  existsSync(places.programs)
    ? readdirSync(places.programs, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && /^\d/.test(entry.name))
        .map(({ name }) => name)
    : [];
