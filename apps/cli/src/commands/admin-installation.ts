import { Option, type Command } from 'commander';
import { PlatformError } from '@platform/contract/errors/errors';
import { confirmed } from '../confirm.ts';
import { readPinnedKey } from '../installation/archive-key.ts';
import { keyToPin, readTrust } from '../installation/archive-trust.ts';
import { alone, install, type Installed, rollback } from '../installation/install.ts';
import { places, requireHost } from '../installation/places.ts';
import { maintain } from '../installation/publish.ts';
import { replaceData } from '../installation/replace-data.ts';
import type { SettingFlags } from '../installation/settings.ts';
import { currentVersion, isReplacing } from '../installation/state.ts';
import { resumeSwitch } from '../installation/switch.ts';
import { uninstall } from '../installation/uninstall.ts';
import { ownArchive, unpack } from '../installation/versions.ts';
import type { Output } from '../output.ts';
import type { Run } from '../run.ts';

const readyOption = (): Option =>
  new Option('--ready-within <seconds>', 'seconds until a version must pass its first health check')
    .default(300)
    .argParser(seconds);

function seconds(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new PlatformError('INVALID_ARGUMENT', { field: '--ready-within', value: text, limit: 'seconds above 0' });
}

interface Flags extends SettingFlags {
  readonly readyWithin: number;
  readonly trust?: string;
}

const trustOption = [
  '--trust <key>',
  'public key (PEM file) that signed the archive, if it is not the pinned one; "unsigned" accepts an archive without a signature',
] as const;

export function installationCommands(admin: Command, run: Run): void {
  installCommand(admin, run);
  upgradeCommand(admin, run);
  rollbackCommand(admin, run);
  uninstallCommand(admin, run);
  unitCommands(admin, run);
}

function installCommand(admin: Command, run: Run): void {
  admin
    .command('install-service')
    .description(
      `install this archive in ${places.programs} as a service, or upgrade to it; run it again to change settings`,
    )
    .option(
      '--public-url <url>',
      'URL by which users and machines reach the server (default: the name in the certificate)',
    )
    .option('--tls-cert <file>', 'certificate with its chain (PEM file); a renewed one is loaded within an hour')
    .option('--tls-key <file>', 'private key of the certificate (PEM file)')
    .option('--tls-authority <file>', 'certificate of your own authority (PEM file), if --tls-cert does not include it')
    .option('--host <address>', 'IP address to listen on (default: all with a certificate, else 127.0.0.1)')
    .option('--port <number>', 'port (default: 443 with a certificate, else 8080)')
    .option('--trusted-proxy <networks>', 'comma-separated addresses and networks of proxies in front of the server')
    .option('--allow-plaintext', 'allow other hosts to connect without TLS, for a TLS proxy on another host')
    .option('--org-name <name>', 'name of the organization that the first start creates')
    .option('--backup-dir <folder>', 'folder for scheduled backups, preferably on another disk')
    .option('--backup-every-hours <n>', 'hours between two backups (default: 24)')
    .option('--backup-keep <n>', 'number of scheduled backups to keep (default: 14)')
    .option(...trustOption)
    .addOption(readyOption())
    .action(
      run(async ({ output }, flags: Flags) => {
        const say = output.note;
        const trust = await readTrust(flags.trust);
        const installed = await alone(async () => {
          const own = ownArchive();
          const of = { signer: own.archive.signing_key, pinned: await readPinnedKey(), trust };
          return install(own, { flags, key: keyToPin(own.folder, of), readyWithinS: flags.readyWithin, say });
        });
        report(installed, output);
      }),
    );
}

function upgradeCommand(admin: Command, run: Run): void {
  admin
    .command('upgrade <archive>')
    .description(
      'upgrade the installed server to the version in an archive (.tar.gz); rolls back if it is not ready in time',
    )
    .option(...trustOption)
    .addOption(readyOption())
    .action(
      run(async ({ output }, file: string, flags: Flags) => {
        const trust = await readTrust(flags.trust);
        const installed = await alone(async () => {
          if (currentVersion() === undefined) throw new PlatformError('NOT_INSTALLED', {});
          const { key, ...unpacked } = await unpack(file, { pinned: await readPinnedKey(), trust });
          return install(unpacked, { flags: {}, key, readyWithinS: flags.readyWithin, say: output.note });
        });
        report(installed, output);
      }),
    );
}

function report({ version, changed, warnings, signInUrl }: Installed, output: Output): void {
  if (signInUrl !== undefined) output.secret();
  output.json({ version, changed, warnings, sign_in_url: signInUrl });
  output.text(
    changed.length === 0
      ? `Version ${version} is installed. Nothing changed.`
      : `Version ${version} is installed and ready.`,
  );
  for (const one of changed) output.text(`  changed: ${one}`);
  for (const warning of warnings) output.note(`Warning: ${warning}`);
  if (signInUrl !== undefined) output.text(`\nSign in with this link, once, within a day:\n\n  ${signInUrl}`);
}

function rollbackCommand(admin: Command, run: Run): void {
  admin
    .command('rollback')
    .description('return to the previous version')
    .option(
      '--discard-changes-since <time>',
      'discard data written since this time, if the previous version cannot read it',
    )
    .addOption(readyOption())
    .action(
      run(async ({ output }, flags: Flags & { discardChangesSince?: string }) => {
        const { discardChangesSince: discard, readyWithin: readyWithinS } = flags;
        const version = await alone(() => rollback({ discard, readyWithinS, say: output.note }));
        output.json({ version });
        output.text(`Version ${version} is in use again.`);
      }),
    );
}

function uninstallCommand(admin: Command, run: Run): void {
  admin
    .command('uninstall-service')
    .description('remove the programs and systemd units; settings and data stay')
    .option('--delete-data', `also delete ${places.settings} and ${places.data}: all machines, images and models`)
    .option('--yes', 'do not ask for confirmation')
    .action(
      run(async ({ output }, flags: { deleteData?: boolean; yes?: boolean }) => {
        const deletesData = flags.deleteData === true;
        requireHost();
        if (deletesData && !(await confirmed(`Delete all data in ${places.data}?`, flags))) return;
        await alone(async () => uninstall(deletesData));
        output.json({ uninstalled: true, data: deletesData ? 'deleted' : 'kept' });
        output.text(
          deletesData
            ? 'Programs, settings and data are removed.'
            : `Programs are removed. Settings are in ${places.settings}, data in ${places.data}.`,
        );
      }),
    );
}

/** What the units run. */
function unitCommands(admin: Command, run: Run): void {
  admin
    .command('maintain', { hidden: true })
    .description('install a renewed certificate, publish agent and machine server')
    .action(run(async ({ output }) => (requireHost(), maintain(output.note))));
  admin
    .command('resume-switch', { hidden: true })
    .description('continue a switch to another version, or the replacement of the data')
    .action(
      run(async ({ output }) => {
        requireHost();
        const say = output.note;
        await resumeSwitch(say);
        if (isReplacing()) await alone(() => replaceData({ restore: async () => false, readyWithinS: 300, say }));
      }),
    );
}
