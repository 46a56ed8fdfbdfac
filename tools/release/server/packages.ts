// Copies packages of the registry into an archive of the server: from node_modules where they are installed, else from
// the registry, checked against the hash in the lock file.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { LockEntry } from './closure.ts';
import { plainEnvironment } from '../../../packages/kit/src/node/environment.ts';

const root = path.resolve(import.meta.dirname, '..', '..', '..');

/** What no program reads at run time. Licences stay. */
const isNeeded = (name: string): boolean => !/\.(map|d\.[cm]?ts)$/.test(name);

/** Files of a package that only other platforms or demos use, as paths in the package. */
const unneeded: Readonly<Record<string, (file: string, cpu: string) => boolean>> = {
  'onnxruntime-node': (file, cpu) =>
    file.startsWith('bin/') &&
    !['bin', 'bin/napi-v6', 'bin/napi-v6/linux'].includes(file) &&
    !`${file}/`.startsWith(`bin/napi-v6/linux/${cpu}/`),
  // LiteRT picks one of these by what the processor can do; the others are for threads and GPUs of browsers.
  '@litertjs/core': (file) => /^wasm\/litert_wasm_(jspi|threaded)_internal\./.test(file),
  '@vladmandic/human': (file) =>
    /^(demo|assets|types|src|tmp|favicon\.ico|samples)($|\/)/.test(file) ||
    (file.startsWith('models/') && !file.startsWith('models/centernet.')),
};

/** Copies files and folders with plain modes; links and what `isWanted` refuses stay behind. */
export function copyTree(from: string, to: string, isWanted: (file: string) => boolean, at = ''): void {
  mkdirSync(path.join(to, at), { recursive: true });
  for (const entry of readdirSync(path.join(from, at), { withFileTypes: true })) {
    const file = at === '' ? entry.name : `${at}/${entry.name}`;
    if (!isWanted(file)) continue;
    if (entry.isDirectory()) copyTree(from, to, isWanted, file);
    else if (entry.isFile()) copyFile(path.join(from, file), path.join(to, file));
  }
}

/** Modes do not depend on who installed the packages. */
export function copyFile(from: string, to: string): void {
  mkdirSync(path.dirname(to), { recursive: true });
  copyFileSync(from, to);
  chmodSync(to, (statSync(from).mode & 0o111) === 0 ? 0o644 : 0o755);
}

export function copyPackage(key: string, entry: LockEntry, cpu: string, to: string): void {
  const name = key.slice(key.lastIndexOf('node_modules/') + 'node_modules/'.length);
  const from = packageFolder(path.join(root, key), name, entry);
  const isUnneeded = unneeded[name] ?? (() => false);
  copyTree(from, path.join(to, key), (file) => file !== 'node_modules' && isNeeded(file) && !isUnneeded(file, cpu));
  linkLibraries(path.join(to, key));
}

/** The folder of a package: `installed` if that has the version, else one in the cache, fetched once. */
export function packageFolder(installed: string, name: string, { version = '', integrity = '' }: LockEntry): string {
  const manifest = path.join(installed, 'package.json');
  if (existsSync(manifest) && (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version === version)
    return installed;
  const cached = path.join(root, '.cache', 'packages', `${name.replaceAll('/', '+')}-${version}`);
  if (existsSync(cached)) return cached;
  mkdirSync(path.dirname(cached), { recursive: true });
  const fresh = mkdtempSync(path.join(path.dirname(cached), '.fetch-'));
  try {
    const packed = JSON.parse(run('npm', ['pack', `${name}@${version}`, '--json', '--pack-destination', fresh])) as {
      filename: string;
    }[];
    const archive = path.join(fresh, (packed[0]?.filename ?? '').replaceAll('/', '-').replace(/^@/, ''));
    const [algorithm = '', wanted = ''] = integrity.split('-', 2);
    const found = createHash(algorithm).update(readFileSync(archive)).digest('base64');
    if (found !== integrity.slice(algorithm.length + 1))
      throw new Error(`${name} ${version} has the hash ${found}, the lock file ${wanted}.`);
    const unpacked = path.join(fresh, 'package');
    mkdirSync(unpacked, { recursive: true });
    run('tar', ['-xzf', archive, '-C', unpacked, '--strip-components=1', '--no-same-owner']);
    renameSync(unpacked, cached);
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
  return cached;
}

/** The links between libraries that the database's package makes in its install script, which npm does not run here. */
function linkLibraries(home: string): void {
  const list = path.join(home, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
    const link = path.join(home, target);
    mkdirSync(path.dirname(link), { recursive: true });
    if (!existsSync(link)) symlinkSync(path.relative(path.dirname(target), source), link);
  }
}

function run(command: string, args: readonly string[]): string {
  const done = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
    env: plainEnvironment({ NODE_NO_WARNINGS: '1' }),
  });
  if (done.status === 0) return done.stdout;
  throw new Error(
    `${command} ${args.join(' ')} ended with ${done.error?.message ?? done.status ?? done.signal}: ${done.stderr}`,
  );
}

export function writeJson(file: string, value: unknown): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(value, null, 1)}\n`);
}
