import type { Command } from 'commander';
import { confirmed } from '../confirm.ts';
import { printable } from '../output.ts';
import type { Run } from '../run.ts';
import { findMachine } from '../find/machine.ts';
import { sharingRunJson, sharingRunText } from '../views/shared-identity.ts';

/** Commands that rename a machine, migrate it to platform-agent, or delete it. */
export function machineEditCommands(machine: Command, run: Run): void {
  splitCommand(machine, run);
  machine
    .command('rename <machine> <name>')
    .description('rename a machine; its ID and its credentials stay')
    .action(
      run(async ({ connection, output }, name: string, newName: string) => {
        const open = await connection();
        const { id } = await findMachine(open, name);
        await open.client.appClient.updateRobot({ id, name: newName });
        output.json({ id, name: newName });
        output.text(`Renamed machine ${printable(name)} to ${printable(newName)}.`);
      }),
    );

  machine
    .command('migrate <machine>')
    .description("offer platform-agent as an update to another product's agent; only this replaces that agent")
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const { id } = await findMachine(open, name);
        const { version } = await open.client.fleetClient.migrateMachine({ id });
        output.json({ id, version, migration: 'requested' });
        output.text(
          `Offered platform-agent ${version}. The other agent takes it at its next check. See it happen: platform machine show ${printable(name)}`,
        );
      }),
    );

  machine
    .command('delete <machine>')
    .description('delete a machine with its configuration and logs and revoke its credentials; its captured data stays')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(
      run(async ({ connection, output }, name: string, flags: { yes?: boolean }) => {
        const open = await connection();
        const { id, name: found } = await findMachine(open, name);
        const question = `Delete machine ${printable(found)} with its configuration and logs? Its agent can no longer sign in.`;
        if (!(await confirmed(question, flags))) return;
        await open.client.fleetClient.deleteMachine({ id });
        output.json({ id, deleted: true });
        output.text(`Deleted machine ${printable(found)} with ID ${id}.`);
        output.text('Remove the agent from the machine itself with: sudo platform-agent uninstall');
      }),
    );
}

/** The command that gives one of two computers with the same credentials a machine of its own. */
function splitCommand(machine: Command, run: Run): void {
  machine
    .command('split <machine>')
    .description(
      'when two hosts use the credentials of one machine, make the one that appeared last a machine of its own',
    )
    .option(
      '--name <name>',
      'name of the new machine; default: the name of the machine with -2 or the next free number',
    )
    .option('--without-config', 'start the new machine without a configuration instead of a copy')
    .action(
      run(async ({ connection, output }, name: string, options: { name?: string; withoutConfig?: boolean }) => {
        const open = await connection();
        const { id } = await findMachine(open, name);
        const made = await open.client.fleetClient.splitMachine({
          id,
          name: options.name ?? '',
          withoutConfig: options.withoutConfig ?? false,
        });
        output.json({
          machine_id: made.machineId,
          part_id: made.partId,
          name: made.name,
          run: sharingRunJson(made.run),
          kept: sharingRunJson(made.kept),
        });
        const shown = printable(made.name);
        output.text(
          `${sharingRunText(made.run)} becomes machine ${shown} when it checks in next. ${sharingRunText(made.kept)} stays ${printable(name)}.`,
        );
        output.text(`See it happen: platform machine show ${shown}`);
      }),
    );
}
