import { fchmodSync, fstatSync } from 'node:fs';
import { PlatformError } from '@platform/contract/errors';
import { atomicWrite } from '@platform/kit/node';

/**
 * Before a secret is printed: where the output goes into a file (`> machine.json`), only its owner may read it from now on.
 *
 * @throws PlatformError INVALID_ARGUMENT when the file is another user's: a shell running as root follows links.
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

/** A new file of mode 0600 takes the place of whatever stands there; a link is replaced, not followed. */
export const writeSecretFile = (file: string, text: string): Promise<void> => atomicWrite(file, text, { mode: 0o600 });
