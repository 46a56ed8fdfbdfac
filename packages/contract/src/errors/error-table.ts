import { accessErrors } from './rows/access.ts';
import { agentLinkErrors } from './rows/agent-link.ts';
import { backupErrors } from './rows/backup.ts';
import { callsErrors } from './rows/calls.ts';
import { conditionsErrors } from './rows/conditions.ts';
import { dataErrors } from './rows/data.ts';
import { datasetImportErrors } from './rows/dataset-import.ts';
import { fragmentsErrors } from './rows/fragments.ts';
import { hostErrors } from './rows/host.ts';
import { machineServerErrors } from './rows/machine-server.ts';
import { machinesErrors } from './rows/machines.ts';
import { provisioningErrors } from './rows/provisioning.ts';
import { registryErrors } from './rows/registry.ts';
import { releasesErrors } from './rows/releases.ts';
import { systemErrors } from './rows/system.ts';
import { trainingErrors } from './rows/training.ts';
import { trainingDataErrors } from './rows/training-data.ts';
import type { ErrorRow } from './error-row.ts';

export type { ErrorRow, RpcCode } from './error-row.ts';

/** Every failure that a user or a program may see, with its wire code and remedy. Documentation and UI use it. */
export const errorTable = {
  ...callsErrors,
  ...accessErrors,
  ...machinesErrors,
  ...fragmentsErrors,
  ...conditionsErrors,
  ...agentLinkErrors,
  ...systemErrors,
  ...provisioningErrors,
  ...machineServerErrors,
  ...releasesErrors,
  ...dataErrors,
  ...datasetImportErrors,
  ...trainingDataErrors,
  ...trainingErrors,
  ...registryErrors,
  ...hostErrors,
  ...backupErrors,
} as const;

/** The same rows by subject, in the order of the documentation. */
export const errorSubjects: readonly { readonly title: string; readonly rows: Readonly<Record<string, ErrorRow>> }[] = [
  { title: 'Calls: their form, their size and how often they are made', rows: callsErrors },
  { title: 'Access: keys, sign-in, permissions, organizations', rows: accessErrors },
  { title: 'Machines and their configuration', rows: machinesErrors },
  { title: 'Fragments: parts of configurations that machines share', rows: fragmentsErrors },
  { title: 'Conditions and mutes', rows: conditionsErrors },
  { title: 'The connection of a machine to the management server', rows: agentLinkErrors },
  { title: 'The operating system of a machine', rows: systemErrors },
  { title: 'Provisioning: what an app sends to a device over its hotspot', rows: provisioningErrors },
  { title: 'The machine server and its resources', rows: machineServerErrors },
  { title: 'Releases: publication, signatures, downloads, versions on a machine', rows: releasesErrors },
  { title: 'Data: files, images, sequences, datasets', rows: dataErrors },
  { title: 'Imports of images, labels and boxes', rows: datasetImportErrors },
  { title: 'What a training job needs from its dataset', rows: trainingDataErrors },
  { title: 'Training jobs, scripts, runners and clusters', rows: trainingErrors },
  { title: 'Models and packages', rows: registryErrors },
  { title: 'The host of the server: data folder, disk, database, port', rows: hostErrors },
  { title: 'Backups of the server, and copies of its data folder', rows: backupErrors },
];
