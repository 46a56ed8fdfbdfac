// What releases promise to read, kept as files: e2e/compatibility/VERSION has a backup of a server and the folder of an agent,
// as that version wrote them (write-compatibility.ts).
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { PlatformClient } from '@platform/client';
import { OnlineState, type Machine } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { systemClock } from '@platform/kit/node';
import { checkout } from '../src/up-process.ts';

export const compatibilityFolder = path.join(checkout, 'e2e', 'compatibility');
export const backupOf = (fixture: string): string => path.join(fixture, 'backup');
export const agentOf = (fixture: string): string => path.join(fixture, 'agent.tar.gz');

/** What the version knew, and what its server answered. */
export interface Kept {
  readonly apiKey: { readonly id: string; readonly key: string };
  readonly orgId: string;
  readonly machineId: string;
  /** Credentials file of the machine. */
  readonly credentials: { readonly cloud: object };
  /** Rows of the database and hashes of files; see end-state.ts. */
  readonly rows: unknown;
  /** Lines of the machine that the server has, as rows. */
  readonly lines: readonly string[];
  /** Texts of lines that wait in the spool of the agent. */
  readonly waiting: readonly string[];
  readonly answers: unknown;
  readonly machine: unknown;
}

export const readKept = async (fixture: string): Promise<Kept> =>
  JSON.parse(await readFile(path.join(fixture, 'state.json'), 'utf8')) as Kept;

/** Answers of the API that a later version gives, too. */
export async function answersOf(client: PlatformClient, organizationId: string): Promise<unknown> {
  const { machines } = await client.fleetClient.listMachines({ organizationId });
  const datasets = await client.datasetClient.listDatasetsByOrganizationId(organizationId);
  const releases = await client.releaseClient.listReleases('');
  return {
    machines: machines.map(({ id, partId, name }) => ({ id, partId, name })),
    datasets: datasets.map(({ id, name }) => ({ id, name })),
    releases: releases.map(({ name, version, platform, channels }) => ({ name, version, platform, channels })),
  };
}

/** What an agent keeps of its machine, by its report. */
export const machineState = ({ id, partId, report }: Machine): unknown => ({
  id,
  partId,
  content: Buffer.from(report?.receivedSha256 ?? []).toString('hex'),
  server: report?.server?.installedVersion,
  previous: report?.server?.previousVersion,
});

/** Waits for a report of a machine that is online. @param since - ms since 1970. */
export async function untilMachine(
  client: PlatformClient,
  of: { id: string; since: number; what: string; log: () => Promise<string> },
  isSo: (machine: Machine) => boolean,
): Promise<Machine> {
  const end = systemClock.now() + 60_000;
  for (;;) {
    const { machine } = await client.fleetClient.getMachine({ id: of.id });
    const reportedOn = machine?.reportedOn ? timestampMs(machine.reportedOn) : 0;
    if (machine?.onlineState === OnlineState.ONLINE && reportedOn > of.since && isSo(machine)) return machine;
    if (systemClock.now() > end) {
      const last = JSON.stringify({ reportedOn, ...(machine && (machineState(machine) as object)) });
      throw new Error(`${of.what} did not happen; last: ${last}\n${(await of.log()).slice(-3_000)}`);
    }
    await systemClock.sleep(100);
  }
}

/** With modes and links, without pipes and sockets. */
export const pack = (folder: string, file: string, names: readonly string[]): Promise<unknown> =>
  promisify(execFile)('tar', ['--create', '--gzip', '--file', file, '--directory', folder, ...names]);

export const unpack = (file: string, folder: string): Promise<unknown> =>
  promisify(execFile)('tar', ['--extract', '--gzip', '--no-same-owner', '--file', file, '--directory', folder]);
