import type { Command } from 'commander';
import { fragmentLimits } from '@platform/contract/config/fragments';
import { PlatformError } from '@platform/contract/errors/errors';
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { readStdin, readText } from '@platform/kit/node';
import { confirmed } from '../confirm.ts';
import { findFragment } from '../find/fragment.ts';
import { counted, isoTime, noteTruncated, printable } from '../output.ts';
import type { Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { effectJson, effectLines } from '../views/fragment-effects.ts';
import { problemJson, problemText } from './config-problems.ts';

/** Reads at most what the server takes. */
async function readFragmentText(file: string): Promise<string> {
  const text = file === '-' ? await readStdin() : await readText(file);
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes <= fragmentLimits.textBytes) return text;
  throw new PlatformError('FRAGMENT_TOO_LARGE', { sizeBytes, limitBytes: fragmentLimits.textBytes });
}

/** Commands for configurations that several machines share. */
export function fragmentCommands(program: Command, run: Run): void {
  const fragment = program.command('fragment').description('configurations that several machines share');
  listCommand(fragment, run);
  showCommand(fragment, run);
  createCommand(fragment, run);
  updateCommand(fragment, run);
  deleteCommand(fragment, run);
}

function listCommand(fragment: Command, run: Run): void {
  fragment
    .command('list')
    .description('list the fragments of the organization')
    .action(
      run(async ({ connection, output }) => {
        const open = await connection();
        const organizationId = await open.organizationId();
        const { fragments, truncated } = await open.client.appClient.listFragments({ organizationId });
        output.json({
          fragments: fragments.map((one) => ({
            id: one.id,
            name: one.name,
            revision: Number(one.revision),
            machine_parts: one.robotPartCount,
            used_elsewhere: one.usedElsewhere,
            last_updated: isoTime(one.lastUpdated),
          })),
        });
        if (fragments.length === 0) return output.text('There are no fragments yet.');
        output.table(
          ['id', 'name', 'revision', 'used by', 'changed on'],
          fragments.map((one) => [
            one.id,
            one.name,
            one.revision,
            usersOf(one, 'part'),
            isoTime(one.lastUpdated) ?? '',
          ]),
        );
        noteTruncated(output, truncated, 'fragments');
      }),
    );
}

/** Machines that the caller may not see are not counted. */
const usersOf = ({ robotPartCount, usedElsewhere }: { robotPartCount: number; usedElsewhere: boolean }, one: string) =>
  `${counted(robotPartCount, one)}${usedElsewhere ? ', and others' : ''}`;

function showCommand(fragment: Command, run: Run): void {
  fragment
    .command('show <fragment>')
    .description('print a fragment, by its ID or name')
    .option('--revision <n>', 'revision to print; default: the newest')
    .action(
      run(async ({ connection, output }, name: string, options: { revision?: string }) => {
        const open = await connection();
        const { id } = await findFragment(open, name);
        const version =
          options.revision === undefined ? '' : String(wholeNumber('--revision', options.revision, { min: 1 }));
        const found = await open.client.appClient.getFragment({ id, version });
        const { fragment: one, revisions, truncated } = found;
        if (!one) throw new PlatformError('FRAGMENT_NOT_FOUND', { fragmentId: id });
        // Attributes of components may contain passwords.
        output.secret();
        output.json({
          id,
          name: one.name,
          revision: Number(one.revision),
          saved_by: one.savedBy,
          machine_parts: one.robotPartCount,
          used_elsewhere: one.usedElsewhere,
          fragment: JSON.parse(one.fragmentJson) as unknown,
          revisions: revisions.map(({ revision, createdAt, savedBy, comment }) => ({
            revision: Number(revision),
            saved_by: savedBy,
            saved_on: isoTime(createdAt),
            comment,
          })),
        });
        output.text(one.fragmentJson);
        noteTruncated(output, truncated, 'revisions');
        output.note(
          `${printable(one.name)}, ID ${id}, revision ${one.revision}, used by ${usersOf(one, 'machine part')}.`,
        );
      }),
    );
}

function createCommand(fragment: Command, run: Run): void {
  fragment
    .command('create <name> <file>')
    .description('create a fragment from a JSON file (-: standard input)')
    .option('--comment <text>', 'reason, shown with the revision')
    .action(
      run(async ({ connection, output }, name: string, file: string, { comment = '' }: { comment?: string }) => {
        const open = await connection();
        const configJson = await readFragmentText(file);
        const organizationId = await open.organizationId();
        const made = await open.client.appClient.createFragment({ organizationId, name, configJson, comment });
        const id = made.fragment?.id ?? '';
        output.json({ id, name: made.fragment?.name, revision: 1 });
        output.text(id);
        output.note(`Use it in the configuration of a machine: "fragments": ["${id}"]`);
      }),
    );
}

type UpdateFlags = { check?: boolean; comment?: string; expectRevision?: string; name?: string; yes?: boolean };

function updateCommand(fragment: Command, run: Run): void {
  fragment
    .command('update <fragment> <file>')
    .description(
      'save a fragment from a JSON file (-: standard input); every machine that uses its newest revision receives it',
    )
    .option('--check', 'print what would change on which machine, and save nothing')
    .option('--expect-revision <n>', 'fail if the saved revision is not this one')
    .option('--name <name>', 'new name')
    .option('--comment <text>', 'reason, shown with the revision')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(
      run(async ({ connection, output }, wanted: string, file: string, flags: UpdateFlags) => {
        const open = await connection();
        const { id, name, revision } = await findFragment(open, wanted);
        const configJson = await readFragmentText(file);
        const expectedRevision =
          flags.expectRevision === undefined
            ? revision
            : String(wholeNumber('--expect-revision', flags.expectRevision, { min: 1 }));
        const preview = await open.client.fleetClient.previewFragment({ fragmentId: id, configJson });
        const { problems, machines, machineCount } = preview;
        const errors = problems.filter(({ severity }) => severity === Severity.ERROR);
        const effects = { problems: problems.map(problemJson), machines: machines.map(effectJson) };
        if (flags.check) output.json({ machine_parts: machineCount, ...effects });
        for (const problem of problems) output.text(problemText(problem));
        if (errors.length === 0) for (const line of effectLines(preview)) output.text(line);
        if (flags.check && errors.length === 0) return;
        if (flags.check) throw new PlatformError('INVALID_FRAGMENT', { count: errors.length });
        const question = `Save ${printable(name)} for ${counted(machineCount, 'machine part')}?`;
        if (errors.length === 0 && !(await confirmed(question, flags))) return;
        const saved = await open.client.appClient.updateFragment({
          id,
          name: flags.name ?? name,
          configJson,
          comment: flags.comment ?? '',
          expectedRevision,
        });
        output.json({ id, revision: Number(saved.fragment?.revision), machine_parts: machineCount, ...effects });
        output.text(`Saved as revision ${saved.fragment?.revision} of ${printable(saved.fragment?.name ?? name)}.`);
      }),
    );
}

function deleteCommand(fragment: Command, run: Run): void {
  fragment
    .command('delete <fragment>')
    .description('delete a fragment that no machine uses')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(
      run(async ({ connection, output }, wanted: string, flags: { yes?: boolean }) => {
        const open = await connection();
        const { id, name } = await findFragment(open, wanted);
        if (!(await confirmed(`Delete fragment ${printable(name)} with its revisions?`, flags))) return;
        await open.client.appClient.deleteFragment({ id });
        output.json({ id, deleted: true });
        output.text(`Deleted fragment ${printable(name)} with ID ${id}.`);
      }),
    );
}
