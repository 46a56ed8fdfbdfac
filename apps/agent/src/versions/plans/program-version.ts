import { idOf, type Release } from '../../state/state.ts';
import { isQuarantined, isSameContent, type Bad, type Trial } from '../../state/trial-file.ts';

/** What is wanted of one program. Replaced whole. */
export interface Goal {
  want:
    | { is: 'release'; release: Release }
    /** An operator at the machine chose a version that is here. */
    | { is: 'installed'; id: string }
    | undefined;
  /** Revision of the configuration that names it. */
  revision: number;
  /** What an operator pinned on the machine; empty: the management server decides. */
  pin: string;
  /** An operator waits for it: nothing else is waited for. */
  isUrgent: boolean;
  clearance: number;
  /** The management server was heard in this run. */
  isFresh: boolean;
}

export interface Have {
  /** Complete versions, oldest first. */
  versions: readonly { id: string; sizeBytes: number }[];
  linked: string | null;
  /** Null: none, or one that is none of ours. */
  running: string | null;
  previous: string | null;
  trial: Trial | undefined;
  quarantined: readonly Bad[];
  /** For a release without hash: the version that its URL led to, while its source is unchanged. */
  known: string | null;
  /** Names of unfinished downloads. */
  leftovers: readonly string[];
  /** A download failed a short while ago. */
  isHeldBack: boolean;
  /** What starts this program starts the version that is linked. */
  mayActivate: boolean;
  /** A restart may be made for the sake of a new version. */
  mayRestart: boolean;
}

export type Step =
  | { do: 'download'; version: string; url: string; sha256: string }
  | { do: 'activate'; id: string }
  | { do: 'restart'; from: string; to: string }
  | { do: 'remove'; id: string }
  | { do: 'forget'; part: string };

const keptVersions = 3;
const keptBytes = 500 * 2 ** 20;

type Here = Pick<Have, 'versions' | 'linked' | 'running' | 'known'>;

/**
 * Id of the wanted version; null: nothing is wanted, or its content is not known yet. What is here with the same content
 * under another name is taken for it, what is in use before anything else.
 */
export function wantedId({ want }: Goal, { versions, linked, running, known }: Here): string | null {
  if (!want) return null;
  if (want.is === 'installed') return want.id;
  const id = want.release.sha256 === '' ? known : idOf(want.release.version, want.release.sha256);
  if (id === null) return null;
  const here = [running, linked, id, ...versions.map((v) => v.id)];
  const ids = new Set(versions.map((v) => v.id));
  return here.find((v) => v !== null && ids.has(v) && isSameContent(v, id)) ?? id;
}

/** Spec, Versioning: a new version is downloaded at once and used at the next restart. */
export function plan(goal: Goal, have: Have): readonly Step[] {
  const { want, clearance } = goal;
  const { linked, running, quarantined } = have;
  const ids = new Set(have.versions.map(({ id }) => id));
  const id = wantedId(goal, have);
  /** What failed must not go on running, whoever is busy with it. */
  const away: Step[] =
    running !== null && linked !== null && running !== linked && isQuarantined(quarantined, running, clearance)
      ? [{ do: 'restart', from: running, to: linked }]
      : [];
  if (!want) return goal.isFresh ? [...away, ...unstaged(have, null, clearance), ...forgotten(have)] : away;
  const mustFetch = want.is === 'release' && (id === null || !ids.has(id));
  const isBad = id !== null && isQuarantined(quarantined, id, clearance) !== undefined;
  if (mustFetch && !have.mayActivate) return away; // it would only fill the disk
  if (mustFetch && !isBad) {
    const { version, url, sha256 } = want.release;
    const steps = id === null ? away : [...away, ...unstaged(have, id, clearance)];
    return have.isHeldBack ? steps : [...steps, { do: 'download', version, url, sha256 }];
  }
  if (isBad) return [...away, ...unstaged(have, id, clearance), ...forgotten(have)];
  if (id === null || !ids.has(id)) return away;
  if (linked !== id) return have.mayActivate ? [{ do: 'activate', id }] : [];
  if (running !== null && running !== id && have.mayRestart) return [{ do: 'restart', from: running, to: id }];
  return [...spare(have, id), ...forgotten(have)];
}

const forgotten = ({ leftovers }: Have): Step[] => leftovers.map((part): Step => ({ do: 'forget', part }));

/** What was made ready for the next start, never started, and is not desired any more must not start then. */
function unstaged(
  { versions, linked, running, trial, quarantined, mayActivate }: Have,
  id: string | null,
  clearance: number,
): Step[] {
  if (!mayActivate || !trial || trial.starts > 0 || trial.to !== linked || linked === running || linked === id)
    return [];
  const { from } = trial;
  const isUsable = versions.some((v) => v.id === from) && isQuarantined(quarantined, from, clearance) === undefined;
  return isUsable ? [{ do: 'activate', id: from }] : [];
}

/** Old versions, oldest first, of which nothing is needed any more. */
function spare({ versions, linked, running, previous, trial }: Have, id: string): Step[] {
  const used = new Set([id, linked, running, previous, trial?.from, trial?.to]);
  let [count, bytes] = [versions.length, versions.reduce((sum, v) => sum + v.sizeBytes, 0)];
  const steps: Step[] = [];
  for (const version of versions) {
    if (count <= keptVersions && bytes <= keptBytes) break;
    if (used.has(version.id)) continue;
    count--;
    bytes -= version.sizeBytes;
    steps.push({ do: 'remove', id: version.id });
  }
  return steps;
}
