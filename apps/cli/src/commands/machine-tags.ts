import type { Command } from 'commander';
import { findMachine } from '../find/machine.ts';
import { printable } from '../output.ts';
import type { Run } from '../run.ts';

/** Commands that give machines tags and take them away. */
export function tagCommands(machine: Command, run: Run): void {
  for (const [command, description, change] of [
    ['tag', 'add tags to a machine; search by tag: platform machine list tag:barn', 'add'],
    ['untag', 'remove tags from a machine', 'remove'],
  ] as const)
    machine
      .command(`${command} <machine> <tags...>`)
      .description(description)
      .action(
        run(async ({ connection, output }, name: string, words: string[]) => {
          const open = await connection();
          const { id, name: found } = await findMachine(open, name);
          const { tags } = await open.client.fleetClient.tagMachine({ id, [change]: words });
          output.json({ id, tags });
          output.text(
            tags.length === 0 ? `${printable(found)} has no tags.` : `Tags of ${printable(found)}: ${tags.join(' ')}`,
          );
        }),
      );
}
