import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { noticedCondition } from './noticed-condition.ts';
import { isOtherRun } from './other-agent-run.ts';
import { type AgentRun, runLifeMs, sharingRuns, shownRun } from './sharing-runs.ts';

/** A run with its times as ages in ms: they hold for every clock. */
export type StoredRun = Omit<AgentRun, 'firstSeen' | 'lastSent' | 'returnedOn'> & {
  partId: string;
  firstAgo: number;
  sentAgo: number;
  returnedAgo: number | null;
};

/** A split whose new machine no device has become yet. */
export type OpenSplit = { partId: string; runId: Buffer; newPartId: string; machineId: string; name: string };

/** An agent of ours and one of another product that both check in for a part. */
export type BothAgents = { ours: AgentRun; other: AgentRun };

/** Who shares a part; undefined: none does. */
export type PartSharing = { computers: Sharing | undefined; bothAgents: BothAgents | undefined };

/** The computers that share a part. `shown`: whose status is shown. Times are ms since 1970. */
export type Sharing = {
  runs: readonly [AgentRun, AgentRun, ...AgentRun[]];
  shown: AgentRun;
  split: OpenSplit | undefined;
};

export const sharedMinutes = runLifeMs / 60_000;

/** @param now - ms since 1970. @returns undefined: it is not shared, as far as the runs show. */
export function sharingOf(
  stored: readonly StoredRun[],
  split: OpenSplit | undefined,
  now: number,
): PartSharing | undefined {
  const runs = stored.map(({ firstAgo, sentAgo, returnedAgo, ...run }) => ({
    ...run,
    firstSeen: now - firstAgo,
    lastSent: now - sentAgo,
    returnedOn: returnedAgo === null ? undefined : now - returnedAgo,
  }));
  const all = sharingRuns(runs, now);
  if (!all) return undefined;
  const computers = sharingRuns(
    runs.filter(({ id }) => !isOtherRun(id)),
    now,
  );
  const [ours] = all;
  const other = all.find(({ id }) => isOtherRun(id));
  return {
    computers: computers && { runs: computers, shown: shownRun(computers, now), split },
    bothAgents: other && { ours, other },
  };
}

/** The computer that a split makes a machine of its own. */
export const lastRun = ({ runs }: Sharing): AgentRun => runs.at(-1) ?? runs[1];

export const sharingRunMessage = ({ hostname, address, linkAddresses, firstSeen, lastSent }: AgentRun) => ({
  hostname,
  address,
  linkAddresses: [...linkAddresses],
  firstSeen: timestampFromMs(Math.round(firstSeen)),
  lastSeen: timestampFromMs(Math.round(lastSent)),
});

export const sharedIdentityMessage = ({ runs, split }: Sharing) => ({
  runs: runs.map(sharingRunMessage),
  since: timestampFromMs(Math.round(runs[1].firstSeen)),
  splitMachineId: split?.machineId ?? '',
  splitMachineName: split?.name ?? '',
});

const nameOf = ({ hostname }: AgentRun): string => hostname || 'a computer that has not reported its host name';

/** "twin-a (192.0.2.7; its own addresses: 10.0.0.5/24)". */
function placeOf(run: AgentRun): string {
  const own = run.linkAddresses.filter((address) => address.split('/')[0] !== run.address);
  const places = [run.address, ...(own.length > 0 ? [`its own addresses: ${own.join(', ')}`] : [])].filter(Boolean);
  return `${nameOf(run)}${places.length > 0 ? ` (${places.join('; ')})` : ''}`;
}

export function bothAgentsCondition({ ours, other }: BothAgents) {
  const condition = noticedCondition('AGENTS_BOTH_RUN', {
    ours: placeOf(ours),
    other: other.address || 'an unknown address',
    minutes: sharedMinutes,
  });
  const since = timestampFromMs(Math.round(Math.max(ours.firstSeen, other.firstSeen)));
  return { ...condition, since };
}

export function sharingCondition(sharing: Sharing, name: string) {
  const { runs, shown, split } = sharing;
  const [first] = runs;
  const last = lastRun(sharing);
  const condition = noticedCondition('IDENTITY_SHARED', {
    first: placeOf(first),
    second: placeOf(last),
    ...(runs.length > 2 && { more: runs.length - 2 }),
    kept: nameOf(shown),
    ...(split && { split: `The one that appeared last becomes machine ${split.name} when it checks in again.` }),
    name,
    minutes: sharedMinutes,
  });
  const since = timestampFromMs(Math.round(runs[1].firstSeen));
  return { ...condition, since };
}
