import type { Command } from 'commander';
import { defaultDataFolder } from '../data-folder.ts';
import type { Run } from '../run.ts';
import { runServerProgram } from './server-program.ts';

interface Flags {
  readonly dataDir?: string;
  readonly oldPrograms?: string;
  readonly deleteOld?: boolean;
  readonly json?: boolean;
}

export function adminDatabaseCommands(admin: Command, run: Run): void {
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
