import type { Command } from 'commander';
import { systemClock } from '@platform/kit/node';
import {
  OnlineStateSchema,
  ServerStateSchema,
  SeveritySchema,
  type Machine,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { PlatformError } from '@platform/contract/errors';
import type { Connection } from '../connection.ts';
import { ago, enumWord, isoTime, printable } from '../output.ts';
import type { Run } from '../run.ts';

/** A machine by its ID, its part's ID or its name in the organization. */
export async function findMachine(connection: Connection, name: string): Promise<Machine> {
  const { machines } = await connection.client.fleetClient.listMachines({
    organizationId: await connection.organizationId(),
  });
  const found = machines.filter((one) => one.id === name || one.partId === name || one.name === name);
  const [machine, ...more] = found;
  if (!machine) throw new PlatformError('MACHINE_NOT_FOUND', { machineId: name });
  if (more.length > 0)
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'machine',
      value: name,
      limit: `one machine; these share the name: ${found.map((one) => one.id).join(', ')}`,
    });
  return machine;
}

/** The machine as JSON with the names of the wire; enums by name. */
export function machineJson(machine: Machine): Record<string, unknown> {
  const { report } = machine;
  return {
    machine_id: machine.id,
    part_id: machine.partId,
    name: machine.name,
    organization_id: machine.organizationId,
    location_id: machine.locationId,
    online_state: enumWord(OnlineStateSchema, machine.onlineState),
    last_seen: isoTime(machine.lastSeen),
    wanted_revision: Number(machine.wantedRevision),
    applied_revision: report ? Number(report.appliedRevision) : 0,
    agent_version: report?.agent?.runningVersion ?? '',
    server_version: report?.server?.runningVersion ?? '',
    server_state: enumWord(ServerStateSchema, report?.serverState),
    restart_needed: report?.server?.restartNeeded ?? false,
    last_exit: report?.lastExit ?? '',
    restarts: report?.restarts ?? 0,
    conditions: (report?.conditions ?? []).map((one) => ({
      code: one.code,
      severity: enumWord(SeveritySchema, one.severity),
      message: one.message,
      remedy: one.remedy,
    })),
  };
}

export function machineCommands(program: Command, run: Run): void {
  const machine = program.command('machine').description('machines of the organization');

  machine
    .command('create <name>')
    .description('create a machine; prints the credentials file to put on it')
    .option('--location <id>', 'location; default: the first one')
    .action(
      run(async ({ connection, output }, name: string, options: { location?: string }) => {
        const { client } = await connection();
        const created = await client.fleetClient.createMachine({
          organizationId: await (await connection()).organizationId(),
          locationId: options.location ?? '',
          name,
        });
        const credentials = JSON.parse(created.credentialsJson) as Record<string, unknown>;
        output.json({ machine_id: created.machine?.id, part_id: created.machine?.partId, credentials });
        output.text(
          `Created machine ${printable(name)} with ID ${created.machine?.id}, part ${created.machine?.partId}.`,
        );
        output.text('Put this on the machine as /etc/platform.json (mode 600) and start platform-agent there:\n');
        output.text(JSON.stringify(credentials, null, 2));
      }),
    );

  machine
    .command('list')
    .description('all machines with their state')
    .action(
      run(async ({ connection, output }) => {
        const { client, organizationId } = await connection();
        const { machines } = await client.fleetClient.listMachines({ organizationId: await organizationId() });
        output.json(machines.map(machineJson));
        if (machines.length === 0) return output.text('No machine yet. Create one: platform machine create NAME');
        output.table(
          ['name', 'state', 'server', 'agent', 'server version', 'revision', 'seen', 'id'],
          machines.map((one) => {
            const json = machineJson(one);
            const revision = `${String(json['applied_revision'])}/${String(json['wanted_revision'])}`;
            return [
              one.name,
              json['online_state'],
              json['server_state'],
              json['agent_version'],
              json['server_version'],
              revision,
              ago(one.lastSeen, systemClock.wall()),
              one.id,
            ].map(String);
          }),
        );
      }),
    );

  machine
    .command('show <machine>')
    .description('one machine: state, versions, conditions with what to do')
    .action(
      run(async ({ connection, output }, name: string) => {
        const found = machineJson(await findMachine(await connection(), name));
        output.json(found);
        const { conditions, ...rest } = found;
        const width = Math.max(...Object.keys(rest).map((key) => key.length)) + 2;
        for (const [key, value] of Object.entries(rest)) output.text(`${key.padEnd(width)}${printable(String(value))}`);
        for (const one of conditions as { code: string; severity: string; message: string; remedy: string }[]) {
          output.text(`\n${one.severity} ${one.code}: ${printable(one.message)}\n  ${printable(one.remedy)}`);
        }
      }),
    );

  machine
    .command('credentials <machine>')
    .description('the credentials file of a machine')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const { partId } = await findMachine(open, name);
        const { credentialsJson } = await open.client.fleetClient.getCredentials({ partId });
        const credentials = JSON.parse(credentialsJson) as unknown;
        output.json(credentials);
        output.text(JSON.stringify(credentials, null, 2));
      }),
    );

  machine
    .command('restart <machine>')
    .description('restart the machine server at the next opportunity')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const { partId } = await findMachine(open, name);
        await open.client.fleetClient.restartPart({ partId });
        output.json({ part_id: partId, restart: 'requested' });
        output.text('Restart requested. See it happen: platform logs -f');
      }),
    );
}
