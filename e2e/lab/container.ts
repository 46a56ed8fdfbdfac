// The server in a container: an image of deploy/Containerfile, and podman with the lab's images (container.sh).
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { spawnGroup } from '@platform/kit/node';
import { checkout } from '../src/up-process.ts';

const script = path.join(import.meta.dirname, 'container.sh');

/** Runs a program. @throws Error with its output if it fails. @returns its stdout. */
async function must(command: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const group = await spawnGroup({ command, args, env: { ...process.env, ...env } });
  const [stdout, stderr, { code }] = await Promise.all([
    group.stdout ? text(group.stdout) : '',
    group.stderr ? text(group.stderr) : '',
    group.exited,
  ]);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout.trim();
}

export const podman = (...args: string[]): Promise<string> => must('bash', [script, 'podman', ...args]);
export const compose = (folder: string, env: Record<string, string>, ...args: string[]): Promise<string> =>
  must('bash', [script, 'compose', folder, ...args], env);

/** The archive of the server for this host: of PLATFORM_LAB_ARCHIVE, or built. @returns its file. */
export async function serverArchive(): Promise<string> {
  const { PLATFORM_LAB_ARCHIVE } = process.env;
  if (PLATFORM_LAB_ARCHIVE !== undefined) return PLATFORM_LAB_ARCHIVE;
  const out = path.join(checkout, '.cache', 'lab-builds');
  const args = [path.join(checkout, 'tools', 'server-archive.ts'), '--programs', 'own', '--out', out];
  const lines = (await must(process.execPath, args)).split('\n');
  return (JSON.parse(lines.at(-1) ?? '') as { file: string }).file;
}

export const serverImage = 'localhost/platform-management';

/** Builds the base by debootstrap (once), and the image of the server on it. */
export async function buildServerImage(): Promise<void> {
  await must('bash', [script, 'base']);
  await must('bash', [script, 'build', await serverArchive()]);
}
