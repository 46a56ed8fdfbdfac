// The project as of an older commit, built: its server, agent and machine server meet those of today.
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { spawnGroup } from '@platform/kit/node';
import { checkout } from '../src/up-process.ts';

async function must(cwd: string, command: string, ...args: string[]): Promise<void> {
  const group = await spawnGroup({ command, args, cwd });
  group.stdout?.resume();
  const [stderr, { code }] = await Promise.all([group.stderr ? text(group.stderr) : '', group.exited]);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stderr}`);
}

/**
 * Extracts a commit into .cache/older, installs its packages and builds it; the next call finds it there.
 *
 * @returns its folder.
 * @throws Error if this clone does not contain the commit, or its build fails.
 */
export async function olderCheckout(commit: string): Promise<string> {
  const folder = path.join(checkout, '.cache', 'older', commit);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  await must(checkout, 'git', 'cat-file', '-e', `${commit}^{commit}`).catch((error: unknown) => {
    throw new Error(`this clone lacks commit ${commit}: run git fetch --unshallow`, { cause: error });
  });
  const archive = path.join(unfinished, 'project.tar');
  await must(checkout, 'git', 'archive', '--output', archive, commit);
  await must(unfinished, 'tar', '-xf', archive);
  await rm(archive);
  await must(unfinished, process.execPath, path.join(unfinished, 'tools', 'setup.mjs'), 'tools/build.ts');
  await rename(unfinished, folder);
  return folder;
}
