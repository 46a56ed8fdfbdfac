import type { MeasuredMachine } from './machine-conditions.ts';
import { severityRank } from '@platform/contract/conditions/severity';
import { type FoundCondition } from './condition.ts';

/** The machines of an organization, counted. */
export interface OrganizationNumbers {
  readonly machines: number;
  readonly online: number;
  readonly offline: number;
  readonly awaiting: number;
  readonly uninstalled: number;
  /** Online, with a condition that is an error. */
  readonly failing: number;
  /** Machines by version; empty: not reported. */
  readonly serverVersions: ReadonlyMap<string, number>;
  readonly agentVersions: ReadonlyMap<string, number>;
}

type Counted = MeasuredMachine & { readonly agentVersion: string; readonly serverVersion: string };

export function fleetNumbers(
  machines: readonly Counted[],
  found: readonly FoundCondition[],
): Map<string, OrganizationNumbers> {
  const failing = new Set(found.flatMap((one) => (one.severity === severityRank.error ? (one.machineId ?? []) : [])));
  const byOrg = Map.groupBy(machines, ({ orgId }) => orgId);
  return new Map([...byOrg].map(([orgId, own]) => [orgId, numbersOf(own, failing)]));
}

function numbersOf(machines: readonly Counted[], failing: ReadonlySet<string>): OrganizationNumbers {
  const inState = (wanted: MeasuredMachine['state']): number => machines.filter(({ state }) => state === wanted).length;
  const present = machines.filter(({ state }) => state === 'online' || state === 'offline');
  return {
    machines: machines.length,
    online: inState('online'),
    offline: inState('offline'),
    awaiting: inState('awaiting setup'),
    uninstalled: inState('uninstalled'),
    failing: machines.filter(({ state, machineId }) => state === 'online' && failing.has(machineId)).length,
    serverVersions: counted(present.map(({ serverVersion }) => serverVersion)),
    agentVersions: counted(present.map(({ agentVersion }) => agentVersion)),
  };
}

/** Most machines first. */
function counted(versions: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const version of versions) counts.set(version, (counts.get(version) ?? 0) + 1);
  return new Map([...counts].toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)));
}
