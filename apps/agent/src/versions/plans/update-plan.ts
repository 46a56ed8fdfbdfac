import { idOf, type ConfigContent, type Release } from '../../state/state.ts';
import { isQuarantined, isSameContent, type Bad, type Trial } from '../../state/trial-file.ts';

/** The desired state of one program, and the configuration that names it. Replaced whole. */
export interface Goal extends ConfigContent {
  want:
    | { is: 'release'; release: Release }
    /** An operator on the machine chose an installed version. */
    | { is: 'installed'; id: string }
    | undefined;
  /** The version that an operator pinned on the machine; empty: the management server decides. */
  pin: string;
  /** An operator waits for it: the restart does not wait for a window or the server's consent. */
  isUrgent: boolean;
  clearance: number;
  /** The management server answered in this run. */
  isFresh: boolean;
  /** The configuration disables the program: nothing is downloaded for it, unless an operator pins a version. */
  isDisabled?: boolean;
}

export interface Have {
  /** Complete versions, oldest first. */
  versions: readonly { id: string; sizeBytes: number }[];
  linked: string | null;
  /** Null: none, or one that is not stored here. */
  running: string | null;
  previous: string | null;
  trial: Trial | undefined;
  quarantined: readonly Bad[];
  /** For a release without hash: the version that its URL returned, while the source is unchanged. */
  known: string | null;
  /** Names of unfinished downloads. */
  leftovers: readonly string[];
  /** A download failed recently and waits for its retry. */
  isHeldBack: boolean;
  /** The supervisor of this program starts the linked version. */
  mayActivate: boolean;
  /** A restart for a new version is allowed now. */
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
 * Id of the desired version. Null: no version is desired, or its content is unknown. A stored version with the same
 * content under another name counts as the desired one. The running version has precedence, then the linked one.
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

/** Spec, Versioning: download a new version at once, use it at the next restart. */
export function plan(goal: Goal, have: Have): readonly Step[] {
  const { want, clearance } = goal;
  const { linked, running, quarantined } = have;
  const ids = new Set(have.versions.map(({ id }) => id));
  const id = wantedId(goal, have);
  /** A quarantined version must not keep running, even while it is busy. */
  const away: Step[] =
    running !== null && linked !== null && running !== linked && isQuarantined(quarantined, running, clearance)
      ? [{ do: 'restart', from: running, to: linked }]
      : [];
  if (!want) return goal.isFresh ? [...away, ...unstaged(have, null, clearance), ...forgotten(have)] : away;
  const mustFetch = want.is === 'release' && (id === null || !ids.has(id));
  const isBad = id !== null && isQuarantined(quarantined, id, clearance) !== undefined;
  if (mustFetch && (!have.mayActivate || isNotFetched(goal))) return away; // the download would only fill the disk
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

/** Nothing runs a disabled program. An operator who pins a version on the machine wants to have it. */
export const isNotFetched = ({ isDisabled = false, pin }: Goal): boolean => isDisabled && pin === '';

const forgotten = ({ leftovers }: Have): Step[] => leftovers.map((part): Step => ({ do: 'forget', part }));

/** A staged version that never started and is no longer desired must not start at the next restart. */
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

/** Old versions that nothing needs, oldest first. */
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
