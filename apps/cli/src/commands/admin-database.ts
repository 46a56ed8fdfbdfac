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
    .description('bring the embedded database of a stopped server to the PostgreSQL of this version')
    .option('--data-dir <folder>', 'data folder of the server (PLATFORM_DATA_DIR)')
    .option('--old-programs <folder>', 'the version of the platform that wrote the database, or its PostgreSQL')
    .option('--delete-old', 'delete the old databases of earlier upgrades instead')
    .addHelpText('after', '\nThe old database is kept until --delete-old. A run that was cut off is repeated.')
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
