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
  forgiveBad,
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
import { damagedReason, interrupted, isId, type Bad, type Trial } from '../state/trial-file.ts';
import type { UnitRenewal } from './unit-renewal.ts';

/** What is kept of where a version came from. */
export interface About {
  version: string;
  sha256: string;
  sizeBytes: number;
  url: string;
  /** Path among the signed targets; empty: no release key signed it. */
  target: string;
}

interface Kept extends About {
  /** Both of the file when its hash was known to be right; see FileEntry. */
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

/** The versions of one program on this machine: kept, switched, tried and taken back. */
export interface ProgramStore {
  /** All that are whole, oldest first. */
  list(): Promise<Installed[]>;
  /** Id that bin/ links to; null: none that is whole. */
  linked(): Promise<string | null>;
  /** The one that proved itself before the one in use and still is there. */
  previous(): Promise<string | null>;
  /** Of the version in use. */
  trial(): Promise<Trial | undefined>;
  /** Oldest first. */
  bad(): Promise<Bad[]>;
  /** Puts a checked file (below the root; it is moved) into its own folder. Safe to repeat. Answers the id. */
  stage(part: string, about: About): Promise<string>;
  /**
   * Puts a version to use, on trial if there is one to go back to. It runs from the next start on.
   *
   * @throws PlatformError DOWNLOAD_CORRUPT when the stored file was damaged; it is removed.
   */
  activate(id: string, trial: { clearance: number; needs: Trial['needs'] }): Promise<void>;
  /** Of a file that was or would be staged. */
  idOf(about: Pick<About, 'version' | 'sha256'>): string;
  /** Counts a start; what comes of it, and the version to start now. */
  beginStart(): Promise<{ id: string | null; outcome: GateOutcome }>;
  /** The version in use was asked to stop before it could prove itself: this start does not count against it. */
  interrupt(): Promise<void>;
  /** Unless a version is on trial, the unit becomes that of the version that runs. False: it could not. */
  renewUnit(): Promise<boolean>;
  /** The version in use has proved itself. */
  confirm(): Promise<void>;
  /** The version in use has failed: the one before it is in use again. Nothing happens without a trial. */
  revert(reason: string): Promise<void>;
  /** Remembers a version as one that must not be used here. */
  quarantine(id: string, reason: string, clearance: number): Promise<void>;
  /** Takes versions out of the quarantine that turned out not to be to blame; answers with them. */
  forgive(isMeant: (bad: Bad) => boolean): Promise<Bad[]>;
  /** False: there was nothing to forget. */
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
  /** Of the note in the file; undefined: it has none. */
  version: string | undefined;
}

const encoder = new TextEncoder();

/**
 * @param boot - another text after each start of the machine; who starts the program has to know it.
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
  const sound = new Map<string, string>(); // id → mark of the file whose hash was right
  const fileOf = (id: string) => programPath(program, id);
  const aboutOf = (id: string) => `versions/${id}/about.json`;
  const seconds = () => Math.floor(clock.wall() / 1000);
  let turn: Promise<unknown> = Promise.resolve();
  /** Of the version in use, by this process. */
  let starts: { id: string | undefined; count: number } = { id: undefined, count: 0 };
  /** One change at a time. */
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
    await files.unlink(fileOf(id)); // first: what has no program is no version
    for (const name of await files.readdir(`versions/${id}`)) await files.unlink(`versions/${id}/${name}`);
    await files.rmdir(`versions/${id}`);
    await files.syncFolder('versions').catch(() => {});
  };

  /** What the disk has of a version; `replaced`: by the machine server itself, as it may. */
  const compare = async (id: string): Promise<Comparison> => {
    const noted = (await textOf(files, `versions/${id}/sha256`)).trim();
    const inspector = new Inspector();
    for await (const chunk of chunksOf(files, fileOf(id))) inspector.update(chunk);
    const { sha256: got, note } = inspector.finish();
    // Without the note, the id still tells; a whole program is not given up for a lost note.
    const want = /^[0-9a-f]{64}$/.test(noted) ? noted : id.endsWith(`-${got.slice(0, 12)}`) ? got : noted;
    const isNewer = note?.name === nameOf(program) && note.version !== (await readAbout(id))?.version;
    // Specification, Versioning 4. Its note is the last that a file has, so this one was written to its end.
    const isReplaced = got !== want && program === 'server' && isNewer;
    return { is: got === want ? 'sound' : isReplaced ? 'replaced' : 'damaged', got, want, version: note?.version };
  };

  /** Hashes a file unless it is the one whose hash was right; a damaged version is removed. */
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

  /** The version on trial has failed. Is it to blame, or the disk? Its file is fetched again then, some times. */
  const blame = async ({ to, clearance }: Trial, reason: string, isDamaged: boolean): Promise<void> => {
    if (isDamaged && (await noteDamage(files, program, to))) {
      sound.delete(to);
      log.error('the version on trial is damaged on the disk and is fetched again', { id: to });
      return;
    }
    await addBad(files, program, { id: to, clearance, since: seconds(), reason: isDamaged ? damagedReason : reason });
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
        // Before this nobody else could read it: it may be any file that an address led to.
        const file = await files.openWrite(part, { mode: 0o755, append: true });
        await file.sync();
        await file.close();
        const { mark = '', file: self = '' } = (await files.stat(part)) ?? {};
        await replaceFile(files, `versions/${id}/sha256`, encoder.encode(`${about.sha256}\n`), { mode: 0o644 });
        await replaceFile(files, aboutOf(id), encoder.encode(`${JSON.stringify({ ...about, mark, file: self })}\n`), {
          mode: 0o600, // the address may hold a token
        });
        await files.rename(part, fileOf(id));
        await files.syncFolder(`versions/${id}`);
        await files.syncFolder('versions');
        sound.set(id, mark); // it was hashed on its way to the disk
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
        // A version that has not proved itself is nothing to go back to; one that has failed even less.
        const hasFailed = (id: string) => bad.some((one) => one.id === id);
        const from = open && !hasFailed(open.from) ? open.from : now;
        // Before the switch: no moment in which a new version could start untried.
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
          if (!(await isSound(first, true)) && open?.to === first) await blame(open, damagedReason, true);
        }
        const outcome = await gate(files, program, { nowSeconds: seconds(), boot, isDoubtful: false });
        if (outcome === 'reverted' && first !== undefined) sound.delete(first); // the gate may have found it damaged
        let id = await linked();
        if (id === null) {
          // It was damaged and is removed: what else there is.
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
        // An installation is another process: what it has put on trial meanwhile stays so.
        if ((await readTrial(files, program))?.to === open.to) {
          await unit?.keep();
          await endTrial(files, program);
        }
        await forgetDamage(files, program);
      }),

    revert: (reason) =>
      inTurn(async () => {
        const open = await trial();
        if (!open) return;
        // First remembered, then switched: a cut in between repeats it.
        const found = await compare(open.to).catch(() => ({ is: 'damaged' }));
        await blame(open, reason, found.is === 'damaged');
        await goBack(files, program, open.from);
        await unit?.takeBack();
        await endTrial(files, program);
      }),

    quarantine: (id, reason, clearance) =>
      inTurn(async () => {
        await makeFolder(files, 'state');
        await addBad(files, program, { id, clearance, since: seconds(), reason });
      }),

    forgive: (isMeant) => inTurn(() => forgiveBad(files, program, isMeant)),

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
