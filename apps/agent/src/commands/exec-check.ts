import { noexecAt } from '../install/look.ts';
import { noexecProblem } from '../os/mounts.ts';
import { Ended, exitCodes } from './exit-codes.ts';

/** @throws Ended if no program can be started below the root */
export async function checkExecutable(root: string): Promise<void> {
  const mountPoint = await noexecAt(root);
  if (mountPoint === undefined) return;
  throw new Ended(exitCodes.failed, { code: 'ROOT_NOEXEC', ...noexecProblem(root, mountPoint) });
}
