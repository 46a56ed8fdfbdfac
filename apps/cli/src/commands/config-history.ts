import type { Command } from 'commander';
import { PlatformError } from '@platform/contract/errors/errors';
import { isoTime, noteTruncated, printable } from '../output.ts';
import type { Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { findMachine } from '../find/machine.ts';
import { reportSaved } from './config-problems.ts';

/** Commands on the revisions of a machine's configuration. */
export function configHistoryCommands(config: Command, run: Run): void {
  config
    .command('history <machine>')
    .description('list the revisions of a configuration, newest first')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const { partId } = await findMachine(open, name);
        const { revisions, truncated } = await open.client.fleetClient.listConfigRevisions({ partId });
        const shown = revisions.toSorted((a, b) => Number(b.revision - a.revision));
        output.json({
          revisions: shown.map((one) => ({
            revision: Number(one.revision),
            saved_by: one.savedBy,
            saved_on: isoTime(one.savedOn),
            sha256: one.sha256,
            comment: one.comment,
            fragments: one.fragments.map((used) => ({ id: used.id, name: used.name, revision: Number(used.revision) })),
          })),
        });
        if (shown.length === 0) return output.text('No configuration was saved yet.');
        output.table(
          ['revision', 'saved by', 'saved on', 'comment'],
          shown.map((one) => [String(one.revision), one.savedBy, isoTime(one.savedOn) ?? '', printable(one.comment)]),
        );
        noteTruncated(output, truncated, 'revisions');
        output.note(`\nPrint one: platform config get ${printable(name)} --revision N`);
      }),
    );

  config
    .command('rollback <machine> <revision>')
    .description('save an older revision again, as a new revision; it is validated like any other')
    .option('--comment <text>', 'reason, shown in the history')
    .action(
      run(async ({ connection, output }, name: string, wanted: string, options: { comment?: string }) => {
        const open = await connection();
        const { partId } = await findMachine(open, name);
        const number = BigInt(wholeNumber('revision', wanted, { min: 1 }));
        const { fleetClient } = open.client;
        const current = await fleetClient.getConfig({ partId });
        if (number === current.revision) {
          throw new PlatformError('INVALID_ARGUMENT', {
            field: 'revision',
            value: wanted,
            limit: 'an older one: this one is in force',
          });
        }
        const old = await fleetClient.getConfig({ partId, revision: number });
        const saved = await fleetClient.saveConfig({
          partId,
          configJson: old.configJson,
          expectedRevision: current.revision,
          secretsOfRevision: number,
          comment: options.comment ?? `Restores revision ${number}.`,
        });
        reportSaved(output, saved, `Revision ${number} is in force again, saved as revision ${saved.revision}.`);
      }),
    );
}
