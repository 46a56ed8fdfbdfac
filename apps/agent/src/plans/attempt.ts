import { versionOf, type Failure, type UpdateAttempt } from '../state.ts';
import { isQuarantined } from '../update/trial-file.ts';
import { customVersion, wantedId, type Goal, type Have } from './program-version.ts';

type Seen = Pick<Have, 'linked' | 'running' | 'trial' | 'quarantined'>;

/** How an attempt went on, by what is found now; also by an agent that was not there when it happened. */
export function nextAttempt(
  last: UpdateAttempt | undefined,
  { linked, running, trial, quarantined }: Seen,
  wall: number,
): UpdateAttempt | undefined {
  if (!last || last.id === '') return last;
  const to = (at: UpdateAttempt['at'], reason = ''): UpdateAttempt =>
    last.at === at ? last : { ...last, at, reason, code: '', sinceWall: wall };
  const isOpen = last.at === 'staged' || last.at === 'trying';
  const bad = quarantined.findLast(({ id }) => id === last.id);
  if (isOpen && bad && linked !== last.id) return { ...to('reverted', bad.reason), sinceWall: bad.since * 1000 };
  if (isOpen && linked === last.id && running === last.id) return to(trial?.to === last.id ? 'trying' : 'healthy');
  return last;
}

const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');

/** Why this version of the program `name` runs and no other: one or two sentences for people. */
export function whyOf(
  name: string,
  goal: Goal,
  have: Have,
  failure: Failure | undefined,
  last: UpdateAttempt | undefined,
): string {
  const { want, clearance } = goal;
  const { linked, running, trial, quarantined } = have;
  const now = running ?? linked;
  const runs = now === null ? `No version of ${name} is installed.` : `${versionOf(now)} is used.`;
  if (!want) return now === null ? runs : `${runs} The management server names no version.`;
  const id = wantedId(goal, have);
  const wanted = want.is === 'installed' ? versionOf(want.id) : want.release.version;
  const wish = goal.pin !== '' ? 'pinned on this machine' : want.is === 'release' ? want.release.wish : '';
  const asked =
    wanted === customVersion && wish !== '' ? wish : `${wanted}${wish !== '' && wish !== wanted ? ` (${wish})` : ''}`;
  const bad = id === null ? undefined : isQuarantined(quarantined, id, clearance);
  if (bad) {
    return `${runs} ${asked} is wanted but quarantined on this machine since ${dayOf(bad.since)} UTC: ${bad.reason}. Choose another version, or clear the quarantine.`;
  }
  if (failure) return `${runs} ${asked} is wanted: ${failure.text}`;
  if (id !== null && running === id && linked === id) {
    if (trial)
      return `${asked} is in use on trial since start ${trial.starts}; if it fails, ${versionOf(trial.from)} is back.`;
    return `${asked} is used, as asked for.`;
  }
  if (id !== null && linked === id) {
    if (running === null) return `${asked} is installed, as asked for, and starts next.`;
    return `${runs} ${asked} is installed and is used from the next restart on.`;
  }
  if (id !== null && have.versions.some((v) => v.id === id)) {
    if (!have.mayActivate)
      return `${runs} ${asked} is downloaded but not used: this agent was not started from bin/${name}.`;
    return `${runs} ${asked} is downloaded.`;
  }
  if (want.is === 'installed') return `${runs} ${asked} is not on this machine any more.`;
  if (!have.mayActivate)
    return `${runs} ${asked} is wanted, and not downloaded: this agent was not started from bin/${name}.`;
  return last?.at === 'downloading' ? `${runs} ${asked} is being downloaded.` : `${runs} ${asked} is to be downloaded.`;
}
