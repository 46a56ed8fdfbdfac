import type { Clock, Log } from '@platform/kit';
import { Usage } from '@platform/kit/node';
import { makeFolder } from '../os/file-disk.ts';
import type { FileSystem } from '../os/ports.ts';
import { partFolder } from '../versions/layout.ts';
import { programStore } from '../versions/program-store.ts';
import { copyChecked, rootFolders } from './apply.ts';
import type { Candidate } from './facts.ts';

/**
 * Installs the program of `candidate` in `source` below the root of `files`, as an update would. @throws Usage if it is
 * not an agent
 */
export async function placeSelf(
  candidate: Candidate,
  { source, files, clock, log }: { source: FileSystem; files: FileSystem; clock: Clock; log: Log },
): Promise<string> {
  if (candidate.refusal !== undefined) {
    throw new Usage(`${candidate.file} cannot be installed: ${candidate.refusal}. Use a program made by a release.`, 2);
  }
  for (const name of rootFolders) await makeFolder(files, name);
  const store = programStore(files, 'agent', { clock, log });
  const { id, version, sha256, sizeBytes } = candidate;
  if (!(await store.list()).some((found) => found.id === id)) {
    const part = `${partFolder}/install`;
    await copyChecked(candidate, source, files, part);
    await store.stage(part, { version, sha256, sizeBytes, url: '', target: '' });
  }
  if ((await store.linked()) !== id) await store.activate(id, { clearance: 0, needs: 'local' });
  return id;
}
