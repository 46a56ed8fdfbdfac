// The project as of the release before this commit, built: its server, agent and machine server meet those of today.
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { spawnGroup } from '@platform/kit/node';
import { checkout } from '../src/up-process.ts';

async function run(cwd: string, command: string, ...args: string[]) {
  const group = await spawnGroup({ command, args, cwd });
  const [stdout, stderr, { code }] = await Promise.all([
    group.stdout ? text(group.stdout) : '',
    group.stderr ? text(group.stderr) : '',
    group.exited,
  ]);
  return { stdout, stderr, code };
}

async function must(cwd: string, command: string, ...args: string[]): Promise<void> {
  const { stderr, code } = await run(cwd, command, ...args);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stderr}`);
}

/**
 * The newest release before this commit, built. Until there is one, this checkout: then the versions differ only in
 * their numbers.
 *
 * @returns its folder
 */
export async function checkoutOfRelease(): Promise<string> {
  const { stdout, code } = await run(checkout, 'git', 'describe', '--tags', '--abbrev=0', '--match=v*', 'HEAD^');
  if (code === 0) return olderCheckout(stdout.trim());
  process.stderr.write('There is no release before this commit (tag v…): this checkout takes its place.\n');
  return checkout;
}

/** Extracts a commit into .cache/older, installs its packages and builds it; the next call finds it there. */
async function olderCheckout(commit: string): Promise<string> {
  const folder = path.join(checkout, '.cache', 'older', commit);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.new`;
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished, { recursive: true });
  const archive = path.join(unfinished, 'project.tar');
  await must(checkout, 'git', 'archive', '--output', archive, commit);
  await must(unfinished, 'tar', '-xf', archive);
  await rm(archive);
  await must(unfinished, process.execPath, path.join(unfinished, 'tools', 'setup.mjs'), 'tools/build.ts');
  await rename(unfinished, folder);
  return folder;
}
