import { allMachines } from '@platform/client';
import type { Command } from 'commander';
import { systemClock } from '@platform/kit/node';
import type { SaveConfigResponse } from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { queryFields } from '@platform/contract/machine/fields';
import { sortKeys } from '@platform/contract/machine/sort';
import { errorCodeOf, PlatformError } from '@platform/contract/errors/errors';
import { type InstallCommands, installCommands } from '@platform/contract/provisioning/install-command';
import { releasePlatforms } from '@platform/contract/releases/target-path';
import { type ProgramName, withVersion } from '@platform/contract/config/version-pin';
import { choiceArgument } from '../choices.ts';
import type { Connection } from '../connection.ts';
import { findMachine } from '../find/machine.ts';
import { printable } from '../output.ts';
import type { Run } from '../run.ts';
import { writeSecretFile } from '../secret-output.ts';
import { reportSaved } from './config-problems.ts';
import { machineEditCommands } from './machine-edits.ts';
import { eventsCommand } from './machine-events.ts';
import { bulkCommands } from './machine-bulk.ts';
import { tagCommands } from './machine-tags.ts';
import { sampleJson, sampleText } from '../views/samples.ts';
import { machineJson, machineRow, machineText } from '../views/machine.ts';

const credentialsOption = 'write the credentials to this file (mode 0600) instead of printing them';

const programs: Readonly<Record<ProgramName, ProgramName>> = { agent: 'agent', server: 'server' };

export function machineCommands(program: Command, run: Run): void {
  const machine = program.command('machine').description('machines of the organization');

  createCommand(machine, run);
  listCommand(machine, run);
  showCommand(machine, run);
  eventsCommand(machine, run);
  credentialsCommand(machine, run);
  restartCommand(machine, run);
  pinCommand(machine, run);
  unpinCommand(machine, run);
  clearQuarantineCommand(machine, run);
  upgradeSystemCommand(machine, run);
  machineEditCommands(machine, run);
  tagCommands(machine, run);
  bulkCommands(machine, run);
}

function createCommand(machine: Command, run: Run): void {
  machine
    .command('create <name>')
    .description('create a machine and print its credentials file')
    .option('--location <id>', 'ID of the location; default: the first one')
    .option('-o, --output <file>', credentialsOption)
    .action(
      run(async ({ connection, output }, name: string, options: { location?: string; output?: string }) => {
        const { client } = await connection();
        const created = await client.fleetClient.createMachine({
          organizationId: await (await connection()).organizationId(),
          locationId: options.location ?? '',
          name,
        });
        const credentials = JSON.parse(created.credentialsJson) as Record<string, unknown>;
        const ids = { machine_id: created.machine?.id, part_id: created.machine?.partId };
        const command = created.installScriptCommand;
        // A key that may create machines may be closed to releases: its user gets the command for Linux.
        const agents = await client.releaseClient.listReleases('platform-agent').catch(() => []);
        const commands = installCommands(command, agents);
        const made = `Created machine ${printable(name)} with ID ${created.machine?.id}, part ${created.machine?.partId}.`;
        if (options.output !== undefined) {
          await writeSecretFile(options.output, `${JSON.stringify(credentials, null, 2)}\n`);
          output.json({ ...ids, output: options.output, ...commandsJson(command, commands) });
          output.text(`${made} Its credentials are in ${printable(options.output)}.`);
          return output.text(installText(commands));
        }
        output.secret();
        output.json({ ...ids, credentials, ...commandsJson(command, commands) });
        output.text(made);
        output.text(`Put this on the machine as ${credentialsPlaces(commands)}:\n`);
        output.text(JSON.stringify(credentials, null, 2));
        output.text(installText(commands));
      }),
    );
}

function listCommand(machine: Command, run: Run): void {
  machine
    .command('list [query...]')
    .description(
      'list machines with their state, all or those that match a query: words of name, host, tags and ID, and comparisons such as state:offline "server<1.2" "seen>7d" condition:disk tag:barn; negated ones follow --: -- -location:barn',
    )
    .option(
      '--filter <comparisons...>',
      `only those for which all hold: ${Object.keys(queryFields).join(', ')}; for example architecture=aarch64 "disk_free<2GB" reboot_needed`,
    )
    .option('--sort <order>', `${sortKeys.join(', ')}; with a leading "-" in descending order: --sort=-seen`)
    .action(
      run(async ({ connection, output }, words: string[], options: { filter?: string[]; sort?: string }) => {
        const { client, organizationId } = await connection();
        const { filter = [], sort = '' } = options;
        const query = words.join(' ');
        const machines = await allMachines(client, await organizationId(), filter, { query, sort });
        output.json(machines.map(machineJson));
        const isChosen = filter.length > 0 || query.trim() !== '';
        if (machines.length === 0 && isChosen) return output.text('No machine matches.');
        if (machines.length === 0) return output.text('No machine yet. Create one: platform machine create NAME');
        output.table(
          ['name', 'state', 'server', 'agent', 'server version', 'revision', 'seen', 'tags', 'id'],
          machines.map((one) => machineRow(one, systemClock.wall())),
        );
      }),
    );
}

function showCommand(machine: Command, run: Run): void {
  machine
    .command('show <machine>')
    .description('show a machine: running and desired versions, trials and quarantine, conditions with remedies')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const { id, partId } = await findMachine(open, name);
        // Only GetMachine returns the conditions that the management server detects.
        const { machine: found } = await open.client.fleetClient.getMachine({ id });
        if (!found) throw new PlatformError('MACHINE_NOT_FOUND', { machineId: name });
        const last = (await open.client.fleetClient.getMachineSamples({ partId })).samples.at(-1);
        const now = systemClock.wall();
        output.json({ ...machineJson(found), last_sample: sampleJson(last) });
        output.text(machineText(found, now, sampleText(last, now)));
      }),
    );
}

function credentialsCommand(machine: Command, run: Run): void {
  machine
    .command('credentials <machine>')
    .description('print the credentials file of a machine')
    .option('-o, --output <file>', credentialsOption)
    .action(
      run(async ({ connection, output }, name: string, options: { output?: string }) => {
        const open = await connection();
        const { partId } = await findMachine(open, name);
        const { credentialsJson } = await open.client.fleetClient.getCredentials({ partId });
        const credentials = JSON.parse(credentialsJson) as unknown;
        if (options.output !== undefined) {
          await writeSecretFile(options.output, `${JSON.stringify(credentials, null, 2)}\n`);
          output.json({ part_id: partId, output: options.output });
          return output.text(`Wrote ${printable(options.output)}.`);
        }
        output.secret();
        output.json(credentials);
        output.text(JSON.stringify(credentials, null, 2));
      }),
    );
}

function restartCommand(machine: Command, run: Run): void {
  machine
    .command('restart <machine>')
    .description('restart the machine server at the next opportunity')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const { partId } = await findMachine(open, name);
        await open.client.fleetClient.restartPart({ partId });
        output.json({ part_id: partId, restart: 'requested' });
        output.text('Restart requested. See it happen: platform logs -f');
      }),
    );
}

function pinCommand(machine: Command, run: Run): void {
  machine
    .command('pin')
    .argument('<machine>', 'its name or ID')
    .addArgument(choiceArgument('<program>', 'of the machine', programs))
    .argument('<version>', 'stable, dev, a version such as 1.4.0, or an https:// or file:// URL')
    .description('pin a program to a channel or version')
    .addHelpText('after', pinHelp)
    .action(
      run(async ({ connection, output }, name: string, which: ProgramName, version: string) => {
        const saved = await pin(await connection(), name, which, version);
        reportSaved(
          output,
          saved,
          `${which} ${printable(version)}: saved as revision ${saved.revision}. ${whenUsed(name)}`,
        );
      }),
    );
}

function unpinCommand(machine: Command, run: Run): void {
  machine
    .command('unpin')
    .argument('<machine>', 'its name or ID')
    .addArgument(choiceArgument('<program>', 'of the machine', programs))
    .description('remove the pin of a program, so that it follows stable again')
    .action(
      run(async ({ connection, output }, name: string, which: ProgramName) => {
        const saved = await pin(await connection(), name, which, undefined);
        reportSaved(output, saved, `${which} follows stable: saved as revision ${saved.revision}. ${whenUsed(name)}`);
      }),
    );
}

function clearQuarantineCommand(machine: Command, run: Run): void {
  machine
    .command('clear-quarantine <machine>')
    .description('clear the quarantine of a machine, so that it tries these versions again')
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const { partId, report } = await findMachine(open, name);
        const versions = [report?.agent, report?.server].flatMap((one) =>
          (one?.quarantined ?? []).map(({ version }) => version),
        );
        await open.client.fleetClient.clearQuarantine({ partId });
        output.json({ part_id: partId, versions });
        output.text(
          versions.length === 0
            ? 'The machine has reported no quarantined version; nothing is kept from being tried.'
            : `Cleared: ${versions.map(printable).join(', ')}. ${whenUsed(name)}`,
        );
      }),
    );
}

function upgradeSystemCommand(machine: Command, run: Run): void {
  machine
    .command('upgrade-system <machine>')
    .description("upgrade the packages of the machine's operating system now")
    .action(
      run(async ({ connection, output }, name: string) => {
        const open = await connection();
        const { partId, report } = await findMachine(open, name);
        await open.client.fleetClient.upgradeSystem({ partId });
        output.json({ part_id: partId, upgrade: 'requested', waiting_count: report?.system?.waitingCount ?? null });
        output.text(`Upgrade requested. See it happen: platform machine show ${name}`);
      }),
    );
}

const commandsJson = (script: string, { windows }: InstallCommands) => ({
  install_script_command: script,
  ...(windows !== undefined && { windows_install_command: windows }),
});

const credentialsPlaces = ({ windows }: InstallCommands): string =>
  [
    '/etc/platform.json (mode 600)',
    ...(windows === undefined ? [] : ['on Windows as C:\\ProgramData\\Platform\\platform.json']),
  ].join(', ');

function installText({ linux, windows, missing }: InstallCommands): string {
  const lines = [`\nThen install the agent there (Linux with systemd):\n\n  ${linux}`];
  if (windows !== undefined) lines.push(`On Windows (x64, a preview), in PowerShell as administrator:\n\n  ${windows}`);
  if (missing.length > 0 && missing.length < releasePlatforms.length)
    lines.push(`Not released yet for ${missing.join(', ')}: see platform release list.`);
  return lines.join('\n\n');
}

const pinHelp = `
Files that no release key signed (addresses) need an owner; saving one is the consent and is recorded.
An address may end with #sha256=<64 hexadecimal digits>; over plain http it must.`;

const whenUsed = (name: string): string => `See it happen: platform machine show ${printable(name)}`;

/** Saves the machine's configuration with another version. Retries on top of a concurrent change. */
async function pin(
  { client, ...rest }: Connection,
  name: string,
  program: ProgramName,
  version: string | undefined,
): Promise<Pick<SaveConfigResponse, 'revision' | 'problems'>> {
  const { partId } = await findMachine({ client, ...rest }, name);
  for (let attempt = 1; ; attempt++) {
    const { configJson, revision, fragments } = await client.fleetClient.getConfig({ partId });
    // Without a pin of its own, a machine has that of its fragments.
    const desired = version ?? (fragments.length > 0 ? 'stable' : undefined);
    try {
      const saved = await client.fleetClient.saveConfig({
        partId,
        configJson: withVersion(configJson, program, desired),
        expectedRevision: revision,
      });
      return {
        revision: saved.revision,
        problems: saved.problems.filter(
          ({ path }) => path.startsWith('agent.version_control.') && path.endsWith('.agent') === (program === 'agent'),
        ),
      };
    } catch (error) {
      if (attempt === 3 || errorCodeOf(error) !== 'CONFIG_CONFLICT') throw error;
    }
  }
}
