// Builds programs for the lab: each version is a different file, and the bad ones fail in one way. Cached in .cache by
// their inputs.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { spawnGroup } from '@platform/kit/node';
import type { TempFolder } from '@platform/kit/testing';
import { checkout } from '../src/up-process.ts';

export type ProgramName = 'platform-agent' | 'platform-server';

export interface Build {
  name: ProgramName;
  version: string;
  /** linux/amd64 … */
  platform: string;
  sha256: string;
  size: number;
  file: string;
}

/**
 * crash: exits at once. hang: runs and is never ready. mute: works, and cannot connect. background: leaves another
 * process and exits with 0.
 */
export type Fault = 'crash' | 'hang' | 'mute' | 'background';

/**
 * @param from - the project's folder; absent: this checkout.
 * @throws Error with the builder's output
 */
export async function build(
  name: ProgramName,
  version: string,
  { from = checkout, ...more }: { fault?: Fault; platform?: string; from?: string } = {},
): Promise<Build> {
  const out = path.join(from, '.cache', 'lab-builds');
  await mkdir(out, { recursive: true });
  const args = [path.join(from, 'tools', 'release.ts'), name, '--release-version', version, '--out', out];
  if (more.fault !== undefined) args.push('--test-fault', more.fault);
  if (more.platform !== undefined) args.push('--platform', more.platform);
  const group = await spawnGroup({ command: process.execPath, args, cwd: from });
  const [stdout, stderr, { code }] = await Promise.all([
    group.stdout ? text(group.stdout) : '',
    group.stderr ? text(group.stderr) : '',
    group.exited,
  ]);
  if (code !== 0) throw new Error(`${name} ${version} could not be built:\n${stderr}`);
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Build;
}

/** Packages an agent as a .deb of its version. @returns the file. @throws Error with the builder's output */
export async function debOfAgent({ file }: { file: string }, to: TempFolder, ...more: string[]): Promise<string> {
  const args = [path.join(checkout, 'tools', 'deb.ts'), file, '--out', to.path, ...more];
  const group = await spawnGroup({ command: process.execPath, args });
  const [stdout, stderr, { code }] = await Promise.all([
    group.stdout ? text(group.stdout) : '',
    group.stderr ? text(group.stderr) : '',
    group.exited,
  ]);
  if (code !== 0) throw new Error(`tools/deb.ts ended with ${code}:\n${stderr}`);
  return (JSON.parse(stdout) as { file: string }).file;
}
