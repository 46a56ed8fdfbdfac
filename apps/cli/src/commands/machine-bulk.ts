import type { MessageInitShape } from '@bufbuild/protobuf';
import type { PlatformClient } from '@platform/client';
import type { Command } from 'commander';
import {
  type BulkChangeSchema,
  BulkMachineState,
  type BulkOperation,
  type PreviewBulkOperationResponse,
} from '@platform/contract/gen/platform/bulk/v1/bulk_pb';
import { PlatformError } from '@platform/contract/errors/errors';
import type { ProgramName } from '@platform/contract/config/version-pin';
import { choiceArgument } from '../choices.ts';
import { confirmed } from '../confirm.ts';
import { Ended, exitCodes } from '../exit-codes.ts';
import { printable } from '../output.ts';
import type { Run } from '../run.ts';
import { bulkJson, bulkLine, bulkRow, previewJson, previewText } from '../views/bulk.ts';
import { countScreen } from '../views/count-progress.ts';
import { wholeNumber } from '../values.ts';

type Change = MessageInitShape<typeof BulkChangeSchema>;
interface Flags {
  where: string;
  first: number;
  dryRun?: boolean;
  yes?: boolean;
}

const programs: Readonly<Record<ProgramName, ProgramName>> = { agent: 'agent', server: 'server' };

/** Commands that change all machines of a query. */
export function bulkCommands(machine: Command, run: Run): void {
  const bulk = machine
    .command('bulk')
    .description(
      'change all machines that match a query: a few first, then the rest; prints the machines that cannot change, and why',
    );
  const offer = (command: Command, changeOf: ChangeOf): void => offerChange(command, run, changeOf);
  offer(bulk.command('restart').description('restart the machine servers'), () => ({
    change: { case: 'restart', value: {} },
  }));
  offer(bulk.command('tag <tags...>').description('add tags'), (add) => ({
    change: { case: 'tags', value: { add: [...add] } },
  }));
  offer(bulk.command('untag <tags...>').description('remove tags'), (remove) => ({
    change: { case: 'tags', value: { remove: [...remove] } },
  }));
  offer(
    bulk
      .command('pin')
      .addArgument(choiceArgument('<program>', 'of the machines', programs))
      .argument('<version>', 'stable, dev, a version such as 1.4.0, or an https:// or file:// URL')
      .description('pin a program to a channel or version'),
    ([program = '', version = '']) => ({ change: { case: 'pin', value: { program, version } } }),
  );
  offer(
    bulk
      .command('unpin')
      .addArgument(choiceArgument('<program>', 'of the machines', programs))
      .description(
        'remove the pin of a program, so that it follows stable again, even if a fragment names another version',
      ),
    ([program = '']) => ({ change: { case: 'pin', value: { program, version: '' } } }),
  );
  offer(
    bulk.command('move <location>').description('move the machines to a location, by its ID'),
    ([locationId = '']) => ({
      change: { case: 'move', value: { locationId } },
    }),
  );
  offer(bulk.command('delete').description('delete the machines with their configurations and logs'), () => ({
    change: { case: 'delete', value: {} },
  }));
  operationCommands(bulk, run);
}

type ChangeOf = (args: readonly string[]) => Change;

/** A command that previews a change, asks, and makes it. */
function offerChange(command: Command, run: Run, changeOf: ChangeOf): void {
  command
    .requiredOption('--where <query>', 'the machines, as in machine list: "tag:barn state:online"; "" means all')
    .option(
      '--first <n>',
      'number of machines to change before asking whether to continue',
      (value: string) => wholeNumber('--first', value, { min: 1, max: 100 }),
      5,
    )
    .option('--dry-run', 'print which machines would change, and change nothing')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(
      run(async ({ connection, output }, ...given: unknown[]) => {
        const { args, flags } = readGiven(given);
        const { client, organizationId } = await connection();
        const target = { organizationId: await organizationId(), query: flags.where };
        const change = changeOf(args);
        const preview = await client.bulkClient.previewBulkOperation({ target, change });
        output.note(previewText(preview));
        if (flags.dryRun || preview.changing === 0) {
          output.json(previewJson(preview));
          return endOf(preview);
        }
        const question = `Change ${preview.changing} machines, first ${Math.min(flags.first, preview.changing)}?`;
        if (!(await confirmed(question, flags))) return;
        const expected = { expectedChanging: preview.changing };
        const { operation } = await client.bulkClient.startBulkOperation({ target, change, ...expected });
        const ended = await runAll(client, operation, flags);
        output.json(bulkJson(ended));
        output.text(bulkLine(ended));
        await printFailures(client, ended, (text) => output.note(text));
        endOf(ended);
      }),
    );
}

/** The arguments of a command, whose number differs, and its options. */
function readGiven(given: readonly unknown[]): { args: string[]; flags: Flags } {
  const args = given.flatMap((one) => (typeof one === 'string' || Array.isArray(one) ? (one as string[]) : []));
  const flags = given.find((one): one is Flags => typeof one === 'object' && !Array.isArray(one) && one !== null);
  return { args, flags: flags ?? { where: '', first: 5 } };
}

/** Commands for operations that exist. */
function operationCommands(bulk: Command, run: Run): void {
  bulk
    .command('list')
    .description('list bulk operations of the organization, newest first')
    .action(
      run(async ({ connection, output }) => {
        const { client, organizationId } = await connection();
        const { operations } = await client.bulkClient.listBulkOperations({ organizationId: await organizationId() });
        output.json(operations.map(bulkJson));
        if (operations.length === 0) return output.text('No operation yet.');
        output.table(['number', 'change', 'done', 'waiting', 'left out', 'by', 'id'], operations.map(bulkRow));
      }),
    );
  for (const [name, description] of [
    ['continue', 'change the waiting machines'],
    ['stop', 'leave the waiting machines unchanged'],
  ] as const)
    bulk
      .command(`${name} <number>`)
      .description(description)
      .action(
        run(async ({ connection, output }, number: string) => {
          const { client, organizationId } = await connection();
          const found = await findOperation(client, await organizationId(), number);
          const ended =
            name === 'stop'
              ? ((await client.bulkClient.stopBulkOperation({ id: found.id })).operation ?? found)
              : await runAll(client, found, { where: '', first: 100, yes: true });
          output.json(bulkJson(ended));
          output.text(bulkLine(ended));
        }),
      );
}

async function findOperation(client: PlatformClient, organizationId: string, number: string): Promise<BulkOperation> {
  const { operations } = await client.bulkClient.listBulkOperations({ organizationId });
  const found = operations.find((one) => String(one.number) === number || one.id === number);
  if (!found) throw new PlatformError('BULK_OPERATION_NOT_FOUND', { operationId: number });
  return found;
}

/** The first machines, then, if the user agrees, the rest. */
async function runAll(client: PlatformClient, begun: BulkOperation | undefined, flags: Flags): Promise<BulkOperation> {
  const start = begun ?? missing();
  const screen = countScreen(process.stderr, 'machines', start.waiting);
  const step = async (most: number): Promise<BulkOperation> => {
    const now = (await client.bulkClient.runBulkOperation({ id: start.id, most })).operation ?? missing();
    screen.show(start.waiting - now.waiting);
    return now;
  };
  let now = await step(flags.first);
  if (now.waiting > 0 && !now.stoppedOn) {
    screen.close();
    const question = `${now.done} done, ${now.failed} failed. Change the other ${now.waiting}?`;
    if (!(await confirmed(question, flags)))
      return (await client.bulkClient.stopBulkOperation({ id: now.id })).operation ?? missing();
  }
  while (now.waiting > 0 && !now.stoppedOn) now = await step(100);
  screen.close();
  return now;
}

function missing(): never {
  throw new PlatformError('BULK_OPERATION_NOT_FOUND');
}

async function printFailures(client: PlatformClient, { id, failed }: BulkOperation, print: (text: string) => void) {
  if (failed === 0) return;
  const { machines } = await client.bulkClient.listBulkMachines({ id, state: BulkMachineState.FAILED, pageSize: 20 });
  for (const { name, reason } of machines) print(`${printable(name)}: ${printable(reason)}`);
}

/** The exit code says when machines were left out. */
function endOf({ refused, failed = 0 }: Pick<PreviewBulkOperationResponse, 'refused'> & { failed?: number }): void {
  if (refused + failed > 0) throw new Ended(exitCodes.leftOut, 'Machines were left out: see the lines above.');
}
