import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { ConnectError } from '@connectrpc/connect';
import type { Command } from 'commander';
import {
  ConfigProblemsSchema,
  type Problem,
  Severity,
  SeveritySchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { PlatformError } from '@platform/contract/errors';
import { enumWord, printable } from '../output.ts';
import type { Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { findMachine } from './machine.ts';

const problemJson = (one: Problem): Record<string, string> => ({
  path: one.path,
  severity: enumWord(SeveritySchema, one.severity),
  message: one.message,
  remedy: one.remedy,
});
const problemText = (one: Problem): string =>
  printable(`${enumWord(SeveritySchema, one.severity)} ${one.path}: ${one.message} ${one.remedy}`);

/** The problems that a refused configuration came back with; each with its path. */
export function problemsOf(error: unknown): string[] {
  if (!(error instanceof Error) || !(error.cause instanceof ConnectError)) return [];
  return error.cause.findDetails(ConfigProblemsSchema).flatMap((detail) => detail.problems.map(problemText));
}

export function configCommands(program: Command, run: Run): void {
  const config = program.command('config').description('the configuration of a machine');

  config
    .command('get <machine>')
    .description('print the saved configuration')
    .option('--revision <n>', 'an older revision')
    .action(
      run(async ({ connection, output }, name: string, options: { revision?: string }) => {
        const open = await connection();
        const { partId } = await findMachine(open, name);
        const revision = BigInt(wholeNumber('--revision', options.revision ?? '0'));
        const saved = await open.client.fleetClient.getConfig({ partId, revision });
        // Passwords of networks may stand in it.
        output.secret();
        output.json({
          revision: Number(saved.revision),
          saved_by: saved.savedBy,
          config: JSON.parse(saved.configJson) as unknown,
        });
        output.text(saved.configJson);
      }),
    );

  config
    .command('set <machine> <file>')
    .description('save a configuration from a JSON file (- is standard input); refused whole when anything is wrong')
    .option('--expect-revision <n>', 'refuse when somebody saved another revision meanwhile')
    .option('--check', 'only check, save nothing')
    .action(
      run(
        async (
          { connection, output },
          name: string,
          file: string,
          options: { expectRevision?: string; check?: boolean },
        ) => {
          const open = await connection();
          const { partId } = await findMachine(open, name);
          const configJson = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8');
          if (options.check) {
            const { problems } = await open.client.fleetClient.checkConfig({ partId, configJson });
            output.json({ problems: problems.map(problemJson) });
            output.text(problems.length === 0 ? 'No problem found.' : problems.map(problemText).join('\n'));
            if (problems.some((one) => one.severity === Severity.ERROR))
              throw new PlatformError('INVALID_CONFIG', { count: problems.length });
            return;
          }
          const expected =
            options.expectRevision === undefined
              ? {}
              : { expectedRevision: BigInt(wholeNumber('--expect-revision', options.expectRevision)) };
          const saved = await open.client.fleetClient.saveConfig({ partId, configJson, ...expected });
          output.json({ revision: Number(saved.revision), problems: saved.problems.map(problemJson) });
          output.text(`Saved as revision ${saved.revision}.`);
          for (const problem of saved.problems) output.text(problemText(problem));
        },
      ),
    );
}
