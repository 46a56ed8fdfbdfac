import type { Command } from 'commander';
import type { Run } from '../run.ts';
import { adminBackupCommands } from './admin-backup.ts';
import { doctorCommand } from './admin-doctor.ts';
import { installationCommands } from './admin-installation.ts';
import { defaultDataFolder } from '../data-folder.ts';
import { runServerProgram } from './server-program.ts';

/** Commands for the host of the management server itself; they need no API key. */
export function adminCommands(program: Command, run: Run): void {
  const admin = program
    .command('admin')
    .description('install, upgrade and maintain the management server on this host');
  installationCommands(admin, run);
  adminBackupCommands(admin, run);
  adminDatabaseCommands(admin, run);
  doctorCommand(admin, run);
}

interface Flags {
  readonly dataDir?: string;
  readonly oldPrograms?: string;
  readonly deleteOld?: boolean;
  readonly json?: boolean;
}

function adminDatabaseCommands(admin: Command, run: Run): void {
  admin
    .command('upgrade-database')
    .description('upgrade the embedded database of a stopped server to the PostgreSQL version of this release')
    .option('--data-dir <folder>', 'data folder of the server (PLATFORM_DATA_DIR)')
    .option('--old-programs <folder>', 'folder of the platform version that wrote the database, or of its PostgreSQL')
    .option('--delete-old', 'delete the databases that earlier upgrades kept, and upgrade nothing')
    .addHelpText(
      'after',
      '\nThe old database is kept until you run this with --delete-old. Repeat an interrupted upgrade.',
    )
    .action(
      run(async ({ signal }, { dataDir, oldPrograms, deleteOld, json }: Flags) => {
        const args = ['--data-dir', dataDir ?? (process.env['PLATFORM_DATA_DIR'] || defaultDataFolder())];
        if (oldPrograms !== undefined) args.push('--old-programs', oldPrograms);
        if (deleteOld) args.push('--delete-old');
        if (json) args.push('--json');
        await runServerProgram(['upgrade-database', ...args], signal);
      }),
    );
}
