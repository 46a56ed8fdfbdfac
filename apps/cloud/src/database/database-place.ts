import { PlatformError } from '@platform/contract/errors/errors';

/** What a message names: the data folder of an embedded database, or the host of another one. */
export type DatabasePlace = string | { host: string };

export const inUse = (place: DatabasePlace): PlatformError =>
  typeof place === 'string'
    ? new PlatformError('DATA_DIR_IN_USE', { path: place })
    : new PlatformError('DATABASE_IN_USE', place);

export const isInUse = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && (error.code === 'DATA_DIR_IN_USE' || error.code === 'DATABASE_IN_USE');

const nameOf = (place: DatabasePlace): string =>
  typeof place === 'string' ? `the data folder ${place}` : `the database at ${place.host}`;

/** Versions before the first release had other migrations; some had another owner of the database. */
export const unreleased = (place: DatabasePlace, found?: string): PlatformError =>
  new PlatformError('DATA_NOT_RELEASED', { what: nameOf(place), ...(found !== undefined && { found }) });

export const newer = (place: DatabasePlace, schema: { found: string; known: string }): PlatformError =>
  typeof place === 'string'
    ? new PlatformError('DATA_DIR_NEWER', { path: place, ...schema })
    : new PlatformError('DATABASE_NEWER', { ...place, ...schema });
