import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

export interface TempFolder extends AsyncDisposable {
  readonly path: string;
  /** An absolute path inside. */
  file(...names: string[]): string;
}

/**
 * Use it as `await using folder = await tempFolder()`: the end of the block removes it with its content.
 *
 * @param prefix - path to which random letters are added.
 */
export async function tempFolder(prefix = path.join(os.tmpdir(), 'platform-')): Promise<TempFolder> {
  const root = await realpath(await mkdtemp(prefix));
  // Programs that run as another user (the database, when tests run as root) must be able to enter it.
  await chmod(root, 0o711);
  return {
    path: root,
    file: (...names) => path.join(root, ...names),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true, maxRetries: 3 }),
  };
}
