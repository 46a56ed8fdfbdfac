import { PlatformError } from '@platform/contract/errors';
import type { Clock, Log } from '@platform/kit';
import { chunksOf, makeFolder, replaceFile } from '../os/file-disk.ts';
import type { FileSystem } from '../os/ports.ts';
import { idOf } from '../state/state.ts';
import { gate, isDoubtfulStart, type GateOutcome } from './gate.ts';
import { Inspector } from './inspect.ts';
import { nameOf, partFolder, programPath, statePath, type Program } from './layout.ts';
import {
  addBad,
  endTrial,
  forgetDamage,
  releaseFromQuarantine,
  goBack,
  layBack,
  linkedId,
  noteDamage,
  point,
  readBad,
  readTrial,
  textOf,
  writePrevious,
  writeTrial,
} from './switch.ts';
import { damagedReason, interrupted, isId, type Bad, type QuarantineCode, type Trial } from '../state/trial-file.ts';
import type { UnitRenewal } from './unit-renewal.ts';

/** The stored origin of a version. */
export interface About {
  version: string;
  sha256: string;
  sizeBytes: number;
  url: string;
  /** Path among the signed targets; empty: no release key signed it. */
  target: string;
}

interface Kept extends About {
  /** Both as of the last verified hash of the file; see FileEntry. */
  mark: string;
  file: string;
}

export interface Installed {
  id: string;
  about: About | undefined;
  sizeBytes: number;
  /** ms since 1970. */
  since: number;
}

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
  /** Returns false if the quarantine was empty. */
  clearQuarantine(): Promise<boolean>;
  remove(id: string): Promise<void>;
  /** Names of unfinished downloads of this program. */
  leftovers(): Promise<string[]>;
  forget(part: string): Promise<void>;
}

interface Comparison {
  is: 'sound' | 'replaced' | 'damaged';
  /** sha256 in hex. */
  got: string;
  want: string;
  /** Version in the note inside the file; undefined: the file has no note. */
  version: string | undefined;
}

type Failure = Pick<Bad, 'reason' | 'code'>;
const damage: Failure = { reason: damagedReason };

const encoder = new TextEncoder();

/**
 * @param boot - boot ID, different after each boot. With it, a start that a reboot cut short is recognized.
 * @param unit - follows the version; left out: there is none.
 */
export function programStore(
  files: FileSystem,
  program: Program,
  {
    clock,
    log,
    boot = '',
    unit,
  }: { clock: Clock; log: Log; boot?: string | undefined; unit?: UnitRenewal | undefined },
): ProgramStore {
  const sound = new Map<string, string>(); // id → mark of the file at its last verified hash
  const fileOf = (id: string) => programPath(program, id);
  const aboutOf = (id: string) => `versions/${id}/about.json`;
  const seconds = () => Math.floor(clock.wall() / 1000);
  let turn: Promise<unknown> = Promise.resolve();
  /** Starts of the version in use by this process. */
  let starts: { id: string | undefined; count: number } = { id: undefined, count: 0 };
  /** Serializes the changes. */
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = turn.then(work, work);
    turn = mine;
    return mine;
  };

  const readAbout = async (id: string): Promise<Kept | undefined> => {
    try {
      const kept = JSON.parse(await textOf(files, aboutOf(id))) as Partial<Kept>;
      if (typeof kept.sha256 !== 'string' || typeof kept.mark !== 'string') return undefined;
      return {
        version: String(kept.version),
        sha256: kept.sha256,
        sizeBytes: Number(kept.sizeBytes ?? 0),
        url: String(kept.url ?? ''),
        target: String(kept.target ?? ''),
        mark: kept.mark,
        file: String(kept.file ?? ''),
      };
    } catch {
      return undefined;
    }
  };

  const remove = async (id: string): Promise<void> => {
    sound.delete(id);
    await files.unlink(fileOf(id)); // first: a folder without a program is not a version
    for (const name of await files.readdir(`versions/${id}`)) await files.unlink(`versions/${id}/${name}`);
    await files.rmdir(`versions/${id}`);
    await files.syncFolder('versions').catch(() => {});
  };

  /** Compares a stored file with its hash. `replaced`: the machine server replaced its own file, which is allowed. */
  const compare = async (id: string): Promise<Comparison> => {
    const noted = (await textOf(files, `versions/${id}/sha256`)).trim();
    const inspector = new Inspector();
    for await (const chunk of chunksOf(files, fileOf(id))) inspector.update(chunk);
    const { sha256: got, note } = inspector.finish();
    // If the sha256 file is lost, the hash prefix in the id decides, so that a complete program stays.
    const want = /^[0-9a-f]{64}$/.test(noted) ? noted : id.endsWith(`-${got.slice(0, 12)}`) ? got : noted;
    const isNewer = note?.name === nameOf(program) && note.version !== (await readAbout(id))?.version;
    // Specification, Versioning 4. The note is the last part of a file, so this file is complete.
    const isReplaced = got !== want && program === 'server' && isNewer;
    return { is: got === want ? 'sound' : isReplaced ? 'replaced' : 'damaged', got, want, version: note?.version };
  };

  /** Hashes a file unless its mark matches the last verified hash. Removes a damaged version. */
  const isSound = async (id: string, mustHash = false): Promise<boolean> => {
    const entry = await files.stat(fileOf(id));
    if (entry?.kind !== 'file') return false;
    if (sound.get(id) === entry.mark) return true;
    const about = await readAbout(id);
    if (!mustHash && about?.mark === entry.mark) return true;
    const { is, got, want, version } = await compare(id);
    if (is === 'replaced') log.warn('the machine server has replaced its own file', { id, version, sha256: got });
    if (is === 'damaged') {
      log.error('an installed version is damaged and is removed', { id, wantSha256: want, gotSha256: got });
      await remove(id);
      return false;
    }
    sound.set(id, entry.mark);
    return true;
  };

  /**
   * Quarantines the failed version. If the disk damaged its file, it is fetched again, at most `mostRefetches` times.
   */
  const blame = async ({ to, clearance }: Trial, failure: Failure, isDamaged: boolean): Promise<void> => {
    if (isDamaged && (await noteDamage(files, program, to))) {
      sound.delete(to);
      log.error('the version on trial is damaged on the disk and is fetched again', { id: to });
      return;
    }
    await addBad(files, program, { id: to, clearance, since: seconds(), ...(isDamaged ? damage : failure) });
  };

  const linked = async (): Promise<string | null> => {
    const id = await linkedId(files, program);
    return id !== undefined && isId(id) && (await isSound(id)) ? id : null;
  };

  const trial = async (): Promise<Trial | undefined> => {
    const found = await readTrial(files, program);
    return found && (await linkedId(files, program)) === found.to ? found : undefined;
  };

  return {
    async list() {
      const found: Installed[] = [];
      for (const id of await files.readdir('versions')) {
        const entry = isId(id) ? await files.stat(fileOf(id)) : undefined;
        if (entry?.kind !== 'file') continue;
        found.push({ id, about: await readAbout(id), sizeBytes: entry.sizeBytes, since: entry.changedWall });
      }
      return found.toSorted((a, b) => a.since - b.since);
    },
    linked,
    async previous() {
      const id = (await textOf(files, statePath(program, 'previous'))).trim();
      if (!isId(id) || id === (await linkedId(files, program))) return null;
      return (await files.stat(fileOf(id)))?.kind === 'file' ? id : null;
    },
    trial,
    bad: () => readBad(files, program),

    stage: (part, about) =>
      inTurn(async () => {
        const id = idOf(about.version, about.sha256);
        if (await isSound(id, true)) {
          await files.unlink(part);
          return id;
        }
        await makeFolder(files, `versions/${id}`);
        // Other users can read the file only from here on: an unverified download may be any file at the URL.
        const file = await files.openWrite(part, { mode: 0o755, append: true });
        await file.sync();
        await file.close();
        const { mark = '', file: self = '' } = (await files.stat(part)) ?? {};
        await replaceFile(files, `versions/${id}/sha256`, encoder.encode(`${about.sha256}\n`), { mode: 0o644 });
        await replaceFile(files, aboutOf(id), encoder.encode(`${JSON.stringify({ ...about, mark, file: self })}\n`), {
          mode: 0o600, // the URL may contain a token
        });
        await files.rename(part, fileOf(id));
        await files.syncFolder(`versions/${id}`);
        await files.syncFolder('versions');
        sound.set(id, mark); // hashed during the download
        return id;
      }),

    activate: (to, { clearance, needs }) =>
      inTurn(async () => {
        const now = await linked();
        if (now === to) return;
        if (!(await isSound(to, true))) throw new PlatformError('DOWNLOAD_CORRUPT', { url: `versions/${to}` });
        await makeFolder(files, 'bin');
        await makeFolder(files, 'state');
        const open = await trial();
        const bad = await readBad(files, program);
        // A version on trial is not a rollback target, except if the version before it has failed.
        const hasFailed = (id: string) => bad.some((one) => one.id === id);
        const from = open && !hasFailed(open.from) ? open.from : now;
        // Write the trial before the switch: a new version must never start without it.
        if (from !== null && from !== to) {
          await writeTrial(files, program, {
            from,
            to,
            starts: 0,
            clearance,
            since: seconds(),
            needs,
            boot: '',
            cuts: 0,
          });
          await layBack(files, program, from);
          await unit?.lay(to);
        }
        await point(files, program, to);
        if (from === to) {
          await unit?.takeBack();
          await endTrial(files, program);
        } else await unit?.reload();
      }),

    idOf: ({ version, sha256 }) => idOf(version, sha256),

    beginStart: () =>
      inTurn(async () => {
        const first = await linkedId(files, program);
        starts = { id: first, count: starts.id === first ? starts.count + 1 : 0 };
        if (first !== undefined && isId(first) && isDoubtfulStart(starts.count)) {
          sound.delete(first);
          const open = await trial();
          if (!(await isSound(first, true)) && open?.to === first) await blame(open, damage, true);
        }
        const outcome = await gate(files, program, { nowSeconds: seconds(), boot, isDoubtful: false });
        if (outcome === 'reverted' && first !== undefined) sound.delete(first); // the gate may have found it damaged
        let id = await linked();
        if (id === null) {
          // The damaged version is removed: let the gate link another one.
          await gate(files, program, { nowSeconds: seconds(), boot, isDoubtful: false });
          id = await linked();
        }
        return { id, outcome };
      }),

    renewUnit: () =>
      inTurn(async () => {
        if (!unit) return true;
        if (!(await trial())) return unit.renew();
        await unit.reload();
        return true;
      }),

    interrupt: () =>
      inTurn(async () => {
        const open = await trial();
        if (open && open.starts > 0) await writeTrial(files, program, { ...open, boot: interrupted });
      }),

    confirm: () =>
      inTurn(async () => {
        const open = await trial();
        if (!open) return;
        await writePrevious(files, program, open.from);
        // The installer is another process: a trial that it began meanwhile stays.
        if ((await readTrial(files, program))?.to === open.to) {
          await unit?.keep();
          await endTrial(files, program);
        }
        await forgetDamage(files, program);
      }),

    revert: (reason, code) =>
      inTurn(async () => {
        const open = await trial();
        if (!open) return;
        // Record first, then switch: after an interruption in between, both are repeated.
        const found = await compare(open.to).catch(() => ({ is: 'damaged' }));
        await blame(open, { reason, code }, found.is === 'damaged');
        await goBack(files, program, open.from);
        await unit?.takeBack();
        await endTrial(files, program);
      }),

    quarantine: (id, reason, clearance) =>
      inTurn(async () => {
        await makeFolder(files, 'state');
        await addBad(files, program, { id, clearance, since: seconds(), reason });
      }),

    releaseFromQuarantine: (isMeant) => inTurn(() => releaseFromQuarantine(files, program, isMeant)),

    clearQuarantine: () =>
      inTurn(async () => {
        const isThere = (await readBad(files, program)).length > 0;
        await files.unlink(statePath(program, 'bad'));
        await files.syncFolder('state').catch(() => {});
        return isThere;
      }),

    remove: (id) => inTurn(() => remove(id)),
    leftovers: async () => (await files.readdir(partFolder)).filter((name) => name.startsWith(`${program}-`)),
    forget: (part) => files.unlink(`${partFolder}/${part}`),
  };
}
