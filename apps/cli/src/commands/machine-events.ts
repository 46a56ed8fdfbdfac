import { EventKind, type MachineEvent } from '@platform/contract/gen/platform/timeline/v1/timeline_pb';
import type { Command } from 'commander';
import { choicesOption } from '../choices.ts';
import { findMachine } from '../find/machine.ts';
import type { Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { eventJson, eventRow } from '../views/events.ts';

const kinds = {
  revision: EventKind.REVISION,
  update: EventKind.UPDATE,
  restart: EventKind.RESTART,
  absence: EventKind.ABSENCE,
  condition: EventKind.CONDITION,
  order: EventKind.ORDER,
  change: EventKind.CHANGE,
};
/** The limit of the call. */
const largestPage = 200;

/** The command that lists what happened to a machine. */
export function eventsCommand(machine: Command, run: Run): void {
  machine
    .command('events <machine>')
    .description('list what happened to a machine, newest first: when it was offline, restarts, updates, revisions')
    .addOption(choicesOption('--kind <kind>', 'only events of this kind (repeatable)', kinds))
    .option('-n, --lines <n>', 'maximum number of events', '50')
    .action(
      run(async ({ connection, output }, name: string, flags: { kind?: EventKind[]; lines: string }) => {
        const limit = wholeNumber('--lines', flags.lines, { min: 1, max: 10_000 });
        const open = await connection();
        const { partId } = await findMachine(open, name);
        const events: MachineEvent[] = [];
        for (let pageToken = ''; events.length < limit;) {
          const pageSize = Math.min(largestPage, limit - events.length);
          const page = await open.client.timelineClient.listMachineEvents({
            partId,
            kinds: flags.kind ?? [],
            pageSize,
            pageToken,
          });
          events.push(...page.events);
          pageToken = page.nextPageToken;
          if (pageToken === '') break;
        }
        output.json(events.map(eventJson));
        if (events.length === 0) return output.text('No event is known.');
        output.table(['time', 'until', 'kind', 'what', 'who'], events.map(eventRow));
      }),
    );
}
