import { agentConditions } from './rows/agent.ts';
import { configConditions } from './rows/config.ts';
import { fleetConditions } from './rows/fleet.ts';
import { linkConditions } from './rows/link.ts';
import { machineServerConditions } from './rows/machine-server.ts';
import { networkConditions } from './rows/network.ts';
import { noticedConditions } from './rows/noticed.ts';
import { serverConditions } from './rows/server.ts';
import { systemConditions } from './rows/system.ts';
import { versionConditions } from './rows/versions.ts';
import type { ConditionRow } from './condition-row.ts';

/** Every condition that a program of this repository reports, with its cause and remedy. */
export const conditionTable = {
  ...linkConditions,
  ...agentConditions,
  ...networkConditions,
  ...systemConditions,
  ...versionConditions,
  ...machineServerConditions,
  ...configConditions,
  ...noticedConditions,
  ...fleetConditions,
  ...serverConditions,
} as const;

/** The same rows by subject, in the order of the documentation. */
export const conditionSubjects: readonly {
  readonly title: string;
  readonly rows: Readonly<Record<string, ConditionRow>>;
}[] = [
  { title: 'Between the machine and its management server', rows: linkConditions },
  { title: 'The agent and its files', rows: agentConditions },
  { title: 'The network of the machine', rows: networkConditions },
  { title: 'The operating system of the machine', rows: systemConditions },
  { title: 'Programs and versions', rows: versionConditions },
  { title: 'The machine server', rows: machineServerConditions },
  { title: 'The configuration', rows: configConditions },
  { title: 'What the management server notices about a machine', rows: noticedConditions },
  { title: 'Machines, jobs and runners', rows: fleetConditions },
  { title: 'The management server itself', rows: serverConditions },
];
