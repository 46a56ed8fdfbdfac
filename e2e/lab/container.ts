// The server in a container: an image of deploy/Containerfile, and podman with the lab's images (container.sh).
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { spawnGroup } from '@platform/kit/node';
import { signatureOf, sumsOf } from '@platform/releases/archive-signature';
import { makeKey, readKey } from '@platform/releases/keys';
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

/** The key that signs the lab's archives: `sign.pem` in PLATFORM_LAB_KEYS, made once. @returns its file. */
function signKey(): string {
  const file = path.join(process.env['PLATFORM_LAB_KEYS'] ?? path.join(checkout, '.cache', 'lab-keys'), 'sign.pem');
  if (existsSync(file)) return file;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, makeKey('ed25519'), { mode: 0o600 });
  return file;
}

/** The archive of the server for this host: of PLATFORM_LAB_ARCHIVE, or built. @returns its file. */
async function serverArchive(): Promise<string> {
  const { PLATFORM_LAB_ARCHIVE } = process.env;
  if (PLATFORM_LAB_ARCHIVE !== undefined) return PLATFORM_LAB_ARCHIVE;
  const out = path.join(checkout, '.cache', 'lab-builds');
  const program = path.join(checkout, 'tools', 'server-archive.ts');
  const args = [program, '--programs', 'own', '--sign-key', signKey(), '--out', out];
  const lines = (await must(process.execPath, args)).split('\n');
  return (JSON.parse(lines.at(-1) ?? '') as { file: string }).file;
}

/** An archive of the server that a lab machine checks and installs. */
export interface LabArchive {
  readonly name: string;
  /** The archive, its sum, the signature of that, and the public key: for `push`. */
  readonly files: readonly string[];
  /** The private key, for archives that a test derives. */
  readonly key: string;
}

/** @throws Error if PLATFORM_LAB_ARCHIVE is not signed. */
export async function signedArchive(): Promise<LabArchive> {
  const file = await serverArchive();
  const key = signKey();
  if (!existsSync(signatureOf(file)))
    throw new Error(
      `${file} is not signed. Build it with "npm run build:server -- --programs own --sign-key ${key}"; PLATFORM_LAB_KEYS names another folder of the key.`,
    );
  const publicKey = path.join(path.dirname(key), 'archive-key.pem');
  writeFileSync(publicKey, readKey(readFileSync(key, 'utf8'), key).publicPem);
  return { name: path.basename(file), files: [file, sumsOf(file), signatureOf(file), publicKey], key };
}

/** Shell: signs an archive in the current folder with the key in `pem`, as docs/operations/install.md says. */
export const signCommand = (archive: string, pem: string): string =>
  `sha256sum ${archive} > ${archive}.sha256 && openssl pkeyutl -sign -inkey ${pem} -rawin -in ${archive}.sha256 -out ${archive}.sha256.sig`;

export const serverImage = 'localhost/platform-management';

/** Builds the base by debootstrap (once), and the image of the server on it. */
export async function buildServerImage(): Promise<void> {
  await must('bash', [script, 'base']);
  await must('bash', [script, 'build', await serverArchive()]);
}
