import type { Command } from 'commander';
import { confirmed } from '../confirm.ts';
import { printable } from '../output.ts';
import type { Run } from '../run.ts';
import { findMachine } from '../find/machine.ts';

/** Commands that change what a machine is called, and whether it exists. */
export function machineEditCommands(machine: Command, run: Run): void {
  machine
    .command('rename <machine> <name>')
    .description('give a machine another name; its ID and its credentials stay')
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
    .command('delete <machine>')
    .description('delete a machine with its configuration and logs; its credentials end, its captured data stays')
    .option('-y, --yes', 'do not ask')
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
