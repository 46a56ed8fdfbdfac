/**
 * Layout below the root:
 *
 *   versions/<id>/<file>         one complete, verified program per folder; id = version and first 12 hex of its sha256
 *   versions/<id>/sha256         hash of that file; written before the program appears
 *   versions/<id>/about.json     origin of the version
 *   bin/<file>                   link to the version in use; replaced by rename only
 *   bin/<file>.back              on trial: link to the previous version, ready to be renamed into place
 *   state/<file>.previous        id of the version that passed the health check before the one in use
 *   state/<file>.trial           exists while the version in use is on trial
 *   state/<file>.bad             quarantined versions, one per line
 *   state/<file>.damaged         id of the version whose file the disk damaged on trial, one line each time
 *   cache/part/                  unfinished downloads
 *   lib/gate                     runs before each start of the agent
 */

/** The two programs of a machine, as files and commands name them. */
export const programNames = ['agent', 'server'] as const;
export type Program = (typeof programNames)[number];
const suffix = process.platform === 'win32' ? '.exe' : '';
export const nameOf = (program: Program): string => `platform-${program}`;
export const fileNameOf = (program: Program): string => `${nameOf(program)}${suffix}`;

export const programPath = (program: Program, id: string): string => `versions/${id}/${fileNameOf(program)}`;
export const linkPath = (program: Program): string => `bin/${fileNameOf(program)}`;
export const linkTarget = (program: Program, id: string): string => `../${programPath(program, id)}`;
export const statePath = (program: Program, what: 'previous' | 'trial' | 'bad' | 'damaged'): string =>
  `state/${nameOf(program)}.${what}`;

export const gatePath = 'lib/gate';
export const partFolder = 'cache/part';
export const knownFile = 'cache/known.json';
export const pinsFile = 'state/pins.json';
export const updatesFile = 'state/updates.json';
export const exitsFile = 'state/exits.json';

/** Id of the version in a link target of bin/; undefined for any other target. */
export function idOfTarget(program: Program, target: string | undefined): string | undefined {
  const parts = target?.split('/') ?? [];
  if (parts.length !== 4 || parts[0] !== '..' || parts[1] !== 'versions') return undefined;
  return parts[3] === fileNameOf(program) ? parts[2] : undefined;
}
