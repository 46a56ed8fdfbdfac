import { oneAtATime, type Clock, type Log } from '@platform/kit';
import { makeFolder } from '../os/file-disk.ts';
import type { FileSystem } from '../os/ports.ts';
import { idOf } from '../state/state.ts';
import { isId, type Bad, type QuarantineCode, type Trial } from '../state/trial-file.ts';
import type { GateOutcome } from './gate.ts';
import { partFolder, programPath, statePath, type Program } from './layout.ts';
import {
  linkedVersion,
  listVersions,
  removeVersion,
  stageVersion,
  type About,
  type Installed,
  type StoredVersions,
} from './version-folders.ts';
import { addBad, linkedId, lowerClearance, readBad, releaseFromQuarantine, textOf } from './switch.ts';
import {
  activateVersion,
  confirmTrial,
  countStart,
  interruptTrial,
  openTrial,
  revertTrial,
  wallSeconds,
  type TrialContext,
} from './trial-steps.ts';
import type { UnitRenewal } from './unit-renewal.ts';

/** The stored versions of one program, with their switch, trial and rollback. */
export interface ProgramStore {
  /** All complete versions, oldest first. */
  list(): Promise<Installed[]>;
  /** Id that bin/ links to; null: none, or it is damaged. */
  linked(): Promise<string | null>;
  /** The version that passed the health check before the one in use; null: it is not stored any more. */
  previous(): Promise<string | null>;
  /** Trial of the version in use. */
  trial(): Promise<Trial | undefined>;
  /** Oldest first. */
  bad(): Promise<Bad[]>;
  /** Moves a verified file (path below the root) into its version folder. Safe to repeat. Returns the id. */
  stage(part: string, about: About): Promise<string>;
  /**
   * Links bin/ to a version, on trial if there is a version to roll back to. It runs from the next start on.
   *
   * @throws PlatformError DOWNLOAD_CORRUPT if the stored file is damaged; it is removed.
   */
  activate(id: string, trial: { clearance: number; needs: Trial['needs'] }): Promise<void>;
  /** Id of a file, staged or not. */
  idOf(about: Pick<About, 'version' | 'sha256'>): string;
  /** Counts a start. Returns its outcome and the version to start. */
  beginStart(): Promise<{ id: string | null; outcome: GateOutcome }>;
  /** The version in use stopped on request before it passed the health check. This start does not count against it. */
  interrupt(): Promise<void>;
  /** Updates the unit to the running version unless a version is on trial. Returns false on failure. */
  renewUnit(): Promise<boolean>;
  /** The version in use passed the health check. */
  confirm(): Promise<void>;
  /** The version in use failed. Restores the previous version; without a trial, does nothing. */
  revert(reason: string, code?: QuarantineCode): Promise<void>;
  quarantine(id: string, reason: string, clearance: number): Promise<void>;
  /** Releases the matching versions from quarantine and returns them. */
  releaseFromQuarantine(isMeant: (bad: Bad) => boolean): Promise<Bad[]>;
  /** Lowers the clearances of the quarantine to this one, so that the next clearance counts. */
  lowerClearance(most: number): Promise<void>;
  /** Returns false if the quarantine was empty. */
  clearQuarantine(): Promise<boolean>;
  remove(id: string): Promise<void>;
  /** Names of unfinished downloads of this program. */
  leftovers(): Promise<string[]>;
  forget(part: string): Promise<void>;
}

/**
 * @param boot - boot ID, different after each boot. With it, a start that a reboot cut short is recognized.
 * @param unit - follows the version; left out: there is none.
 */
export function programStore(
  files: FileSystem,
  program: Program,
  of: { clock: Clock; log: Log; boot?: string | undefined; unit?: UnitRenewal | undefined },
): ProgramStore {
  const { clock, log, boot = '', unit } = of;
  const starts = { id: undefined, count: 0 };
  const context: TrialContext = { files, program, clock, log, boot, unit, verified: new Map(), starts };
  const inTurn = oneAtATime();
  return {
    list: () => listVersions(context),
    linked: () => linkedVersion(context),
    previous: () => previousVersion(context),
    trial: () => openTrial(context),
    bad: () => readBad(files, program),
    stage: (part, about) => inTurn(() => stageVersion(context, part, about)),
    activate: (to, trial) => inTurn(() => activateVersion(context, to, trial)),
    idOf: ({ version, sha256 }) => idOf(version, sha256),
    beginStart: () => inTurn(() => countStart(context)),
    renewUnit: () => inTurn(() => renewUnit(context)),
    interrupt: () => inTurn(() => interruptTrial(context)),
    confirm: () => inTurn(() => confirmTrial(context)),
    revert: (reason, code) => inTurn(() => revertTrial(context, { reason, code })),
    quarantine: (id, reason, clearance) =>
      inTurn(async () => {
        await makeFolder(files, 'state');
        await addBad(files, program, { id, clearance, since: wallSeconds(clock), reason });
      }),
    releaseFromQuarantine: (isMeant) => inTurn(() => releaseFromQuarantine(files, program, isMeant)),
    lowerClearance: (most) => inTurn(() => lowerClearance(files, program, most)),
    clearQuarantine: () => inTurn(() => clearQuarantine(context)),
    remove: (id) => inTurn(() => removeVersion(context, id)),
    leftovers: async () => (await files.readdir(partFolder)).filter((name) => name.startsWith(`${program}-`)),
    forget: (part) => files.unlink(`${partFolder}/${part}`),
  };
}

async function previousVersion({ files, program }: StoredVersions): Promise<string | null> {
  const id = (await textOf(files, statePath(program, 'previous'))).trim();
  if (!isId(id) || id === (await linkedId(files, program))) return null;
  return (await files.stat(programPath(program, id)))?.kind === 'file' ? id : null;
}

async function renewUnit(context: TrialContext): Promise<boolean> {
  const { unit } = context;
  if (!unit) return true;
  if (!(await openTrial(context))) return unit.renew();
  await unit.reload();
  return true;
}

async function clearQuarantine({ files, program }: StoredVersions): Promise<boolean> {
  const isThere = (await readBad(files, program)).length > 0;
  await files.unlink(statePath(program, 'bad'));
  await files.syncFolder('state').catch(() => {});
  return isThere;
}
