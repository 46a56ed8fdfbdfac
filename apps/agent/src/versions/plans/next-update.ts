import type { RestartDecision } from '../../state/may-restart.ts';
import type { Failure, UpdateAttempt } from '../../state/state.ts';
import { isQuarantined, isSameContent } from '../../state/trial-file.ts';
import { isNotFetched, wantedId, type Goal, type Have } from './update-plan.ts';
import { customVersion, describeRequested, shownVersion, type BuildUrls } from '../../state/version-names.ts';

type Seen = Pick<Have, 'linked' | 'running' | 'trial' | 'quarantined'>;

/**
 * The next state of an attempt, derived from the observed state. This also works in an agent that started after the
 * attempt.
 *
 * @param desired - id of the desired version; null: none, or its content is not known.
 */
export function nextAttempt(
  last: UpdateAttempt | undefined,
  { linked, running, trial, quarantined }: Seen,
  wall: number,
  desired: string | null,
): UpdateAttempt | undefined {
  if (!last || last.id === '') return last;
  const to = (at: UpdateAttempt['at'], reason = ''): UpdateAttempt =>
    last.at === at ? last : { ...last, at, reason, code: '', sinceWall: wall };
  const isOpen = last.at === 'staged' || last.at === 'trying';
  const bad = quarantined.findLast(({ id }) => id === last.id);
  if (isOpen && bad && linked !== last.id) return { ...to('reverted', bad.reason), sinceWall: bad.since * 1000 };
  if (isOpen && linked === last.id && running === last.id) return to(trial?.to === last.id ? 'trying' : 'healthy');
  // It passed the health check, and the program does not run now.
  if (last.at === 'trying' && linked === last.id && !trial) return to('healthy');
  const isOver = desired !== null && !isSameContent(desired, last.id) && linked !== last.id && running !== last.id;
  if (isOpen && isOver) return to('superseded');
  return last;
}

const dayOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ');

/** Further information about the versions of a program. */
export interface About {
  urls: BuildUrls;
  /** Version of the program if it runs from outside versions/; empty: it does not. */
  elsewhere: string;
  /** Why the installed version does not run yet, as a clause. */
  wait: RestartDecision | undefined;
}

const sentence = (clause = ''): string => (clause === '' ? '' : ` ${clause[0]?.toUpperCase()}${clause.slice(1)}.`);

/** Why this version of the program `name` runs, in one or two sentences for display. */
export function describeReason(
  name: string,
  goal: Goal,
  have: Have,
  failure: Failure | undefined,
  last: UpdateAttempt | undefined,
  { urls, elsewhere, wait }: About,
): string {
  const { want, clearance } = goal;
  const { linked, running, trial, quarantined } = have;
  const now = running ?? linked;
  const shown = (one: string): string => shownVersion(one, urls);
  const none =
    elsewhere === ''
      ? `No version of ${name} is installed.`
      : `${elsewhere} runs and is not installed: it was not started from bin/${name}, so it never replaces itself.`;
  const runs = now === null ? none : `${shown(now)} is ${running === null ? 'installed' : 'used'}.`;
  if (!want) return now === null ? runs : `${runs} The management server names no version.`;
  const id = wantedId(goal, have);
  const wanted = want.is === 'installed' ? shown(want.id) : describeRequested(want.release, id, urls);
  const isByUrl = want.is === 'release' && want.release.version === customVersion;
  const requested =
    goal.pin !== '' ? 'pinned on this machine' : want.is === 'release' && !isByUrl ? want.release.desired : '';
  const asked = `${wanted}${requested !== '' && requested !== wanted ? ` (${requested})` : ''}`;
  const bad = id === null ? undefined : isQuarantined(quarantined, id, clearance);
  if (bad) {
    return `${runs} ${asked} is wanted but quarantined on this machine since ${dayOf(bad.since)} UTC: ${bad.reason}. Choose another version, or clear the quarantine.`;
  }
  if (failure) return `${runs} ${asked} is wanted: ${failure.text}`;
  if (id !== null && running === id && linked === id) {
    if (trial)
      return `${asked} is in use on trial since start ${trial.starts}; if it fails, ${shown(trial.from)} is back.`;
    return `${asked} is used, as asked for.`;
  }
  if (id !== null && linked === id) {
    if (running === null && goal.isDisabled)
      return `${asked} is installed, as asked for, and does not run: disable_platform_server is true.`;
    if (running === null) return `${asked} is installed, as asked for, and does not run now.`;
    return `${runs} ${asked} is installed and is used from the next restart on.${sentence(wait?.reason)}`;
  }
  if (id !== null && have.versions.some((v) => v.id === id)) {
    if (!have.mayActivate)
      return `${runs} ${asked} is downloaded but not used: this agent was not started from bin/${name}.`;
    return `${runs} ${asked} is downloaded.`;
  }
  if (isNotFetched(goal))
    return `${runs} ${asked} is wanted, and not downloaded while disable_platform_server is true.`;
  if (want.is === 'installed') return `${runs} ${asked} is not on this machine any more.`;
  if (!have.mayActivate)
    return elsewhere === ''
      ? `${runs} ${asked} is wanted, and not downloaded: this agent was not started from bin/${name}.`
      : `${runs} ${asked} is wanted, and not downloaded.`;
  return last?.at === 'downloading' ? `${runs} ${asked} is being downloaded.` : `${runs} ${asked} is to be downloaded.`;
}
