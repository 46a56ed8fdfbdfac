import type { Command } from 'commander';
import { findMachine } from '../find/machine.ts';
import { printable } from '../output.ts';
import type { Run } from '../run.ts';
import { sharingRunJson, sharingRunText } from '../views/shared-identity.ts';

/** The command that gives one of two computers with the same credentials a machine of its own. */
export function splitCommand(machine: Command, run: Run): void {
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
