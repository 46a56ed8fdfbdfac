import { isOtherRun } from './other-agent-run.ts';

/** A run of the agent of a part, as its checks show it. Times are ms of one clock. */
export type AgentRun = {
  /** 16 bytes, base64url. */
  readonly id: string;
  firstSeen: number;
  /** When its last check was sent: earlier than it arrived if it was delayed. */
  lastSent: number;
  /** Since when it is proven that it went on after a later run had begun. */
  returnedOn: number | undefined;
  hostname: string;
  /** IP address from which it checks in. */
  address: string;
  linkAddresses: readonly string[];
};

/** A run that has not checked in for this time has ended. An online agent checks in at least every 2 minutes. */
export const runLifeMs = 10 * 60_000;
/** What a check must be later than the first one of the other run; less could be an error of the estimated times. */
const proofMs = 2_000;
/** A machine that was suspended: its uptime stands still meanwhile. */
const suspendedMs = 30_000;
/**
 * The status of a shared part is that of a run seen within this time: two intervals of an agent (at most 60 s each), and
 * some seconds. Another server knows a run by what is stored, which is as old (`saveEveryMs`).
 */
export const recentMs = 150_000;
const lateChecks = 3;

/** What is known of the times of a run on one server. */
export type RunTimes = {
  /** Estimated start: the smallest difference of arrival and uptime, because checks are only ever delayed. */
  start: number;
  late: { count: number; start: number };
  /** When its first check was sent that proves that it goes on; undefined: none yet. */
  proof: number | undefined;
};

export const newTimes = (): RunTimes => ({ start: Infinity, late: { count: 0, start: Infinity }, proof: undefined });

/**
 * When a check was sent, by the uptime of its agent: no clock of the machine is needed, and a check that the network
 * delayed does not look newer than it is.
 */
export function sentAt(times: RunTimes, arrival: number, uptimeMs: number): number {
  const start = arrival - uptimeMs;
  const { late } = times;
  if (start - times.start > suspendedMs) {
    late.count++;
    late.start = Math.min(late.start, start);
    if (late.count >= lateChecks) times.start = late.start;
  } else {
    Object.assign(late, { count: 0, start: Infinity });
    times.start = Math.min(times.start, start);
  }
  return times.start + uptimeMs;
}

/**
 * Notes a check in its run. Two checks prove that the run goes on beside a later one, each sent after the later one had
 * begun: a delayed check of an agent that was restarted is neither.
 *
 * @returns whether that is proven now and was not before.
 */
export function noteSent(run: AgentRun & { times: RunTimes }, runs: readonly AgentRun[], now: number, sent: number) {
  run.lastSent = Math.max(run.lastSent, sent);
  const isLater = ({ firstSeen }: AgentRun): boolean => firstSeen > run.firstSeen && sent >= firstSeen + proofMs;
  if (run.returnedOn !== undefined || !runs.some(isLater)) return false;
  const { proof } = run.times;
  if (proof === undefined) run.times.proof = sent;
  if (proof === undefined || sent < proof + proofMs) return false;
  run.returnedOn = now;
  return true;
}

/**
 * The runs that share the credentials of a part now, by their first check; undefined: only one has checked in for a
 * while. Both must have gone on after the other: a machine that was set back to an earlier state of its memory has a run
 * that returns, but only one that goes on. A run that returned once, and ended before a later one began, is an earlier
 * start of the same computer: it is not listed once it is silent for a while.
 */
export function sharingRuns<R extends AgentRun>(runs: readonly R[], now: number): [R, R, ...R[]] | undefined {
  const live = withOneOther(runs.filter(({ lastSent }) => now - lastSent <= runLifeMs)).toSorted(
    (a, b) => a.firstSeen - b.firstSeen,
  );
  const areBeside = ({ firstSeen, lastSent, returnedOn = Infinity }: R, later: R): boolean =>
    later.firstSeen > firstSeen && lastSent >= later.firstSeen + proofMs && later.lastSent > returnedOn;
  const isShared = live.some((one) => live.some((later) => areBeside(one, later)));
  // A run that did not go on beside a later one is an earlier start of the same computer.
  const going = live.filter((one) => one.returnedOn !== undefined || one === live.at(-1));
  // An agent of another product reports least: it is never the first.
  const ordered = going.toSorted((a, b) => Number(isOtherRun(a.id)) - Number(isOtherRun(b.id)));
  const isOver = ({ lastSent }: R): boolean =>
    now - lastSent > recentMs && live.some(({ firstSeen }) => firstSeen > lastSent);
  const present = ordered.filter((one) => !isOver(one));
  const [first, second, ...more] = present.length > 1 ? present : ordered;
  return isShared && first && second ? [first, second, ...more] : undefined;
}

/** The run whose status is shown: the first one that was seen lately. */
export const shownRun = <R extends AgentRun>(shared: readonly [R, ...R[]], now: number): R =>
  shared.find(({ lastSent }) => now - lastSent <= recentMs) ?? shared[0];

/** Keeps one run of another product's agent, the newest: servers may know one run by two starts. */
function withOneOther<R extends AgentRun>(live: readonly R[]): R[] {
  const last = live.filter(({ id }) => isOtherRun(id)).toSorted((a, b) => b.lastSent - a.lastSent)[0];
  return live.filter((one) => one === last || !isOtherRun(one.id));
}
