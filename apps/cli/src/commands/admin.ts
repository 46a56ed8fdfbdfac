import type { Command } from 'commander';
import type { Run } from '../run.ts';
import { adminBackupCommands } from './admin-backup.ts';
import { adminDatabaseCommands } from './admin-database.ts';
import { doctorCommand } from './admin-doctor.ts';
import { installationCommands } from './admin-installation.ts';

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
