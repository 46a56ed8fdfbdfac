import type { Command } from 'commander';
import { configLimitBytes } from '@platform/contract/config/text';
import { PlatformError } from '@platform/contract/errors/errors';
import { Severity } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { keptPins } from '@platform/contract/config/version-pin';
import { readStdin, readText } from '@platform/kit/node';
import { printable } from '../output.ts';
import type { Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { configHistoryCommands } from './config-history.ts';
import { problemJson, problemText, reportSaved } from './config-problems.ts';
import { findMachine } from '../find/machine.ts';

/** Reads at most what the server takes: far above the limit, it could only say that the message is too large. */
async function readConfigText(file: string): Promise<string> {
  const text = file === '-' ? await readStdin() : await readText(file);
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes <= configLimitBytes) return text;
  throw new PlatformError('CONFIG_TOO_LARGE', { sizeBytes, limitBytes: configLimitBytes });
}

export function configCommands(program: Command, run: Run): void {
  const config = program.command('config').description('the configuration of a machine');

  getCommand(config, run);
  setCommand(config, run);
  configHistoryCommands(config, run);
}

function getCommand(config: Command, run: Run): void {
  config
    .command('get <machine>')
    .description('print the saved configuration')
    .option('--revision <n>', 'revision to print; default: the newest')
    .option('--merged', 'merge the fragments, as the machine receives it')
    .action(
      run(async ({ connection, output }, name: string, options: { revision?: string; merged?: boolean }) => {
        const open = await connection();
        const { partId } = await findMachine(open, name);
        const revision = BigInt(wholeNumber('--revision', options.revision ?? '0'));
        const saved = await open.client.fleetClient.getConfig({ partId, revision });
        const text = options.merged && saved.mergedJson !== '' ? saved.mergedJson : saved.configJson;
        // Attributes of components may contain passwords.
        output.secret();
        output.json({
          revision: Number(saved.revision),
          saved_by: saved.savedBy,
          fragments: saved.fragments.map((used) => ({ id: used.id, name: used.name, revision: Number(used.revision) })),
          config: JSON.parse(text) as unknown,
        });
        output.text(text);
        output.note(`Revision ${saved.revision}. Save a change of it with: --expect-revision ${saved.revision}`);
      }),
    );
}

function setCommand(config: Command, run: Run): void {
  config
    .command('set <machine> <file>')
    .description('save a configuration from a JSON file (-: standard input); rejected as a whole if it has an error')
    .option('--expect-revision <n>', 'fail if the saved revision is not this one')
    .option('--check', 'validate only, save nothing')
    .option('--comment <text>', 'reason, shown in the history')
    .action(
      run(
        async (
          { connection, output },
          name: string,
          file: string,
          options: { expectRevision?: string; check?: boolean; comment?: string },
        ) => {
          const open = await connection();
          const { partId } = await findMachine(open, name);
          const configJson = await readConfigText(file);
          if (options.check) {
            const { problems } = await open.client.fleetClient.checkConfig({ partId, configJson });
            output.json({ problems: problems.map(problemJson) });
            output.text(problems.length === 0 ? 'No problem found.' : problems.map(problemText).join('\n'));
            if (problems.some((one) => one.severity === Severity.ERROR))
              throw new PlatformError('INVALID_CONFIG', { count: problems.length });
            return;
          }
          // The server rejects the save if another user saved after this read.
          const current = await open.client.fleetClient.getConfig({ partId });
          const expectedRevision =
            options.expectRevision === undefined
              ? current.revision
              : BigInt(wholeNumber('--expect-revision', options.expectRevision));
          const { text: withPins, kept } = keptPins(current.configJson, configJson);
          const saved = await open.client.fleetClient.saveConfig({
            partId,
            configJson: withPins,
            expectedRevision,
            comment: options.comment ?? '',
          });
          for (const [pinned, version] of kept) {
            output.note(
              `Kept the pin of ${pinned} at ${printable(version)}. Take it out with: platform machine unpin ${printable(name)} ${pinned}`,
            );
          }
          reportSaved(output, saved, `Saved as revision ${saved.revision}.`);
        },
      ),
    );
}
