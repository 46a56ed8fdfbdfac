import program from '../../package.json' with { type: 'json' };
import path from 'node:path';
import { fileNameOf } from './layout.ts';
import { isId } from '../state/trial-file.ts';

/** Set by the release build. A program that runs from source has the version of its package. */
declare const PLATFORM_RELEASE_VERSION: string | undefined;

export const version: string =
  typeof PLATFORM_RELEASE_VERSION === 'string' ? PLATFORM_RELEASE_VERSION : program.version;

/** Id of the version that this process runs; undefined: it was started from elsewhere, for example from source. */
export function selfIdOf(root: string, realProgram: string): string | undefined {
  const [folder, id, file, ...more] = path.relative(root, realProgram).split(path.sep);
  if (folder !== 'versions' || more.length > 0 || file !== fileNameOf('agent')) return undefined;
  return isId(id) ? id : undefined;
}
