import type { Command } from 'commander';
import { PlatformError } from '@platform/contract/errors/errors';
import { confirmed } from '../confirm.ts';
import { defaultDataFolder } from '../data-folder.ts';
import { hostKeyFile } from '../installation/backup-key.ts';
import { alone } from '../installation/install.ts';
import { places, requireHost } from '../installation/places.ts';
import { replaceData } from '../installation/replace-data.ts';
import { scheduleOf } from '../installation/scheduled-backups.ts';
import { readServerOptions } from '../installation/server-options.ts';
import type { Run } from '../run.ts';
import { runServerProgram } from './server-program.ts';

interface Flags {
  readonly dataDir?: string;
  readonly keep?: string;
  readonly keysTo?: string;
  readonly snapshot?: string;
  readonly keys?: string;
  readonly backupKey?: string;
  readonly acceptDamaged?: boolean;
  readonly acceptUnauthenticated?: boolean;
  readonly replace?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const dataDir = ['--data-dir <folder>', 'data folder of the server (PLATFORM_DATA_DIR)'] as const;
const backupKey = [
  '--backup-key <file>',
  'key file that authenticates the backup (default: that of the server on this host)',
] as const;
const keys = ['--keys <file>', 'file with the keys, if they are separate from the rest of the backup'] as const;

/** Backups of the server on this host. Its own program does the work, because it knows the server's data. */
export function adminBackupCommands(admin: Command, run: Run): void {
  admin
    .command('backup <dir>')
    .description('add a snapshot of database, files and keys to a backup folder while the server runs')
    .option(...dataDir)
    .option('--keep <n>', 'number of newest snapshots to keep; older ones are removed')
    .option('--keys-to <file>', 'write the keys to this file, separate from the rest of the backup')
    .addHelpText(
      'after',
      '\nPLATFORM_BACKUP_PASSPHRASE encrypts the keys. DATABASE_URL selects a database of your own.',
    )
    .action(run(async ({ signal }, dir: string, flags: Flags) => void (await start('backup', dir, flags, signal))));
  restoreCommand(admin, run);
  admin
    .command('verify <dir>')
    .description('read every file of the backups in a folder and check its hash')
    .option('--snapshot <name or number>', 'snapshot to verify (default: all)')
    .option(...keys)
    .option(...backupKey)
    .action(run(async ({ signal }, dir: string, flags: Flags) => void (await start('verify', dir, flags, signal))));
  admin
    .command('backup-key <file>')
    .description(
      'write the key file that authenticates backups of this installation; a restore on another host needs it',
    )
    .option(...dataDir)
    .action(
      run(async ({ signal }, file: string, flags: Flags) => void (await start('backup-key', file, flags, signal))),
    );
  scheduledCommand(admin, run);
}

function restoreCommand(admin: Command, run: Run): void {
  admin
    .command('restore <dir>')
    .description('restore a snapshot into a new or empty data folder')
    .option(...dataDir)
    .option('--snapshot <name or number>', 'snapshot to restore (default: the newest)')
    .option(...keys)
    .option(...backupKey)
    .option('--accept-damaged', 'restore without damaged files')
    .option('--accept-unauthenticated', 'restore even if the backup cannot be authenticated')
    .option(
      '--replace',
      'replace the data of the installed server on this host; the replaced data are kept in another folder',
    )
    .option('--yes', 'do not ask for confirmation')
    .addHelpText(
      'after',
      '\nPLATFORM_BACKUP_PASSPHRASE decrypts the keys. DATABASE_URL selects an empty database of your own.',
    )
    .action(
      run(async ({ signal, output }, dir: string, flags: Flags) => {
        if (!flags.replace) return void (await start('restore', dir, flags, signal));
        if (flags.dataDir !== undefined)
          throw new PlatformError('INVALID_ARGUMENT', { field: '--replace', limit: 'no --data-dir beside it' });
        requireHost();
        if (!(await confirmed('Replace all data of the server on this host by those of the backup?', flags))) return;
        const restore = async (folder: string): Promise<boolean> =>
          (await start('restore', dir, { ...flags, dataDir: folder }, signal)) === 0;
        const kept = await alone(() => replaceData({ restore, readyWithinS: 300, say: output.note }));
        if (kept === undefined) return output.note('Nothing was replaced: the server runs with its data of before.');
        output.text(`The server is ready with the restored data. The data before are in ${kept}; remove them later.`);
      }),
    );
}

/** What the unit of the timer runs. */
function scheduledCommand(admin: Command, run: Run): void {
  admin
    .command('scheduled-backup', { hidden: true })
    .description('make a backup if one is due by the settings of the installed server')
    .action(
      run(async ({ signal, output }) => {
        requireHost();
        const schedule = scheduleOf(await readServerOptions());
        if (schedule === undefined) return output.note('No backups are scheduled: see install-service --backup-dir.');
        const { folder, everyHours, keep, databaseUrl, passphrase } = schedule;
        const args = ['backup', '--data-dir', places.data, '--keep', `${keep}`, '--every-hours', `${everyHours}`];
        const secrets = {
          ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
          ...(passphrase !== undefined && { PLATFORM_BACKUP_PASSPHRASE: passphrase }),
        };
        await runServerProgram([...args, '--', folder], signal, secrets);
      }),
    );
}

async function start(
  name: 'backup' | 'restore' | 'verify' | 'backup-key',
  dir: string,
  flags: Flags,
  signal: AbortSignal,
): Promise<number> {
  const given = {
    '--data-dir':
      name === 'verify' ? undefined : (flags.dataDir ?? process.env['PLATFORM_DATA_DIR'] ?? defaultDataFolder()),
    '--keep': flags.keep,
    '--keys-to': flags.keysTo,
    '--snapshot': flags.snapshot,
    '--keys': flags.keys,
    '--backup-key': flags.backupKey,
    '--host-key': name === 'restore' || name === 'verify' ? hostKeyFile() : undefined,
  };
  const args = [
    ...Object.entries(given).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value])),
    ...(flags.acceptDamaged ? ['--accept-damaged'] : []),
    ...(flags.acceptUnauthenticated ? ['--accept-unauthenticated'] : []),
    ...(flags.json ? ['--json'] : []),
    '--',
    dir,
  ];
  return runServerProgram([name, ...args], signal);
}
