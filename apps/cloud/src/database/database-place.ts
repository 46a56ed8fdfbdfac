import { PlatformError } from '@platform/contract/errors';

/** What a message names: the data folder of an embedded database, or the host of another one. */
export type DatabasePlace = string | { host: string };

export const inUse = (place: DatabasePlace): PlatformError =>
  typeof place === 'string'
    ? new PlatformError('DATA_DIR_IN_USE', { path: place })
    : new PlatformError('DATABASE_IN_USE', place);

export const isInUse = (error: unknown): error is PlatformError =>
  error instanceof PlatformError && (error.code === 'DATA_DIR_IN_USE' || error.code === 'DATABASE_IN_USE');

export const newer = (place: DatabasePlace, schema: { found: string; known: string }): PlatformError =>
  typeof place === 'string'
    ? new PlatformError('DATA_DIR_NEWER', { path: place, ...schema })
    : new PlatformError('DATABASE_NEWER', { ...place, ...schema });
