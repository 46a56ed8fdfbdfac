import { fchmodSync, fstatSync } from 'node:fs';
import { PlatformError } from '@platform/contract/errors/errors';
import { atomicWrite } from '@platform/kit/node';

/**
 * Call it before printing a secret: if the output is a file (`> machine.json`), restricts it to its owner.
 *
 * @throws PlatformError INVALID_ARGUMENT when the file belongs to another user: a shell running as root follows
 *   links.
 */
export function protectOutput(fd: number): void {
  const stat = fstatSync(fd);
  if (!stat.isFile()) return;
  if (stat.uid !== process.geteuid?.()) {
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'output',
      value: `a file of user ${stat.uid}`,
      limit: 'a secret goes to a terminal, a pipe or a file of your own',
    });
  }
  if ((stat.mode & 0o177) !== 0) fchmodSync(fd, 0o600);
}

/** Creates a file with mode 0600 that replaces an existing one; a link is replaced, not followed. */
export const writeSecretFile = (file: string, text: string): Promise<void> => atomicWrite(file, text, { mode: 0o600 });
