/** Installs the packages that a script needs beyond those of its Python: once, in the sandbox, cached by content. */
import { createHash } from 'node:crypto';
import { chown, lstat, mkdir, readdir, rename, stat, utimes } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import { TimeoutError, within, type Clock } from '@platform/kit';
import { atomicWrite, readJson } from '@platform/kit/node';
import { home, type Mount } from './bwrap-plan.ts';
import type { Environment } from './environments.ts';
import { buildEnvironment, pythonCommand } from './python-programs.ts';
import { uidFor } from './probe.ts';
import { removeTree } from './removal.ts';
import {
  checkRequirements,
  describeMissing,
  packagesMissing,
  parseRequirements,
  type MissingPackage,
} from './requirements.ts';
import { readRequirements } from './requirements-program.ts';
import { runSandboxed, type Sandboxes, type SandboxLimits, type SandboxResult, type SandboxTask } from './sandbox.ts';

/** Package sources that the operator of the runner allows. */
export interface PackageSources {
  /** A folder of wheels. */
  readonly wheelhouse?: string;
  /** URL of a package index such as a mirror; with it, the build has network access. */
  readonly pipIndexUrl?: string;
}
export interface Build {
  readonly sandboxes: Sandboxes;
  readonly environment: Environment;
  /** Unpacked project. */
  readonly source: string;
  /**
   * Hash of the project's content, so that its requirements are read only once; undefined if the content may change.
   */
  readonly sourceId: string | undefined;
  /** Folder of the cached environments. */
  readonly cache: string;
  /** Work folder of this build; its creator removes it. */
  readonly folder: string;
  readonly name: string;
  readonly sources: PackageSources;
  readonly limits: SandboxLimits;
  readonly graceMs: number;
  readonly clock: Clock;
  onLine(stream: 'out' | 'err' | 'about', line: string): void;
  onStart?(child: { pid: number; startTime: string }): void;
}

const buildMs = 15 * 60_000;
const environmentBytes = 8 * 2 ** 30;
const keptEnvironments = 10;
/** Changes when the program reads other files or rules: what an earlier one found no longer counts. */
const requirementsFormat = 2;

/**
 * Builds or reuses the folder of a virtual environment, to be mounted at /job/env. Returns undefined if the Python
 * already has all packages.
 *
 * @throws PlatformError SCRIPT_BUILD_FAILED (the script's fault), SANDBOX_UNAVAILABLE (ours). When the signal
 *   aborts: its reason.
 */
export async function prepareEnvironment(build: Build, signal: AbortSignal): Promise<string | undefined> {
  return within(buildMs, { what: 'the installation of packages', clock: build.clock, signal }, (inner) =>
    prepare(build, inner),
  ).catch((error: unknown) => {
    if (!(error instanceof TimeoutError)) throw error;
    throw new PlatformError('SCRIPT_BUILD_FAILED', { problem: `it took longer than ${buildMs / 60_000} minutes` });
  });
}

async function prepare(build: Build, signal: AbortSignal): Promise<string | undefined> {
  const lacking = await missingRequirements(build, signal);
  if (lacking.length === 0) return undefined;
  const { wheelhouse, pipIndexUrl } = build.sources;
  if (wheelhouse === undefined && pipIndexUrl === undefined) throw packagesMissing(build.environment, lacking);
  const missing = lacking.map(({ text }) => text);
  const target = path.join(build.cache, await keyOf(build, missing));
  if (await stat(target).catch(() => undefined)) {
    const now = build.clock.wall() / 1000;
    await utimes(target, now, now);
    build.onLine('about', `Packages from before: ${missing.join(', ')}.`);
    return target;
  }
  build.onLine('about', `Installing ${missing.join(', ')} …`);
  await install(build, lacking, target, signal);
  await trim(build.cache);
  return target;
}

async function missingRequirements(build: Build, signal: AbortSignal): Promise<readonly MissingPackage[]> {
  const { environment, sourceId, cache, folder } = build;
  const id =
    sourceId === undefined
      ? undefined
      : digest([requirementsFormat, sourceId, environment.python, environment.version, environment.description]);
  const known = id === undefined ? undefined : path.join(cache, 'requirements', `${id}.json`);
  // What is missing is read again: meanwhile the operator may have installed it.
  if (known !== undefined && (await stat(known).catch(() => undefined))) return [];

  const out = path.join(folder, 'build');
  await mkdir(out, { recursive: true });
  const mount: Mount = { from: out, to: '/job/build', mode: 'rw' };
  const result = await inSandbox(
    build,
    { mount, network: false, command: ['-W', 'ignore', '-c', readRequirements], step: 'read' },
    signal,
  );
  demand(result, 'its requirements could not be read', signal);
  const file = path.join(out, 'requirements.json');
  // The project's code could have put a link or a pipe there.
  const isFile = (await lstat(file).catch(() => undefined))?.isFile() === true;
  const found = isFile ? parseRequirements(await readJson(file).catch(() => undefined)) : undefined;
  if (!found) throw new PlatformError('SCRIPT_BUILD_FAILED', { problem: 'setup.py left no list of requirements' });
  for (const note of found.notes) build.onLine('about', note);
  checkRequirements(found);
  if (known !== undefined && found.missing.length + found.notes.length === 0) {
    await mkdir(path.dirname(known), { recursive: true });
    await atomicWrite(known, JSON.stringify(found));
  }
  return found.missing;
}

async function install(
  build: Build,
  missing: readonly MissingPackage[],
  target: string,
  signal: AbortSignal,
): Promise<void> {
  const { sources } = build;
  // Concurrent jobs may build the same environment: the first finished build wins.
  const partial = `${target}-${build.name}.part`;
  await removeTree(partial);
  await mkdir(partial, { recursive: true });
  const { wheelhouse, pipIndexUrl } = sources;
  const from = [
    ...(pipIndexUrl === undefined ? ['--no-index'] : ['--index-url', pipIndexUrl]),
    ...(wheelhouse === undefined ? [] : ['--find-links', '/job/wheelhouse']),
  ];
  const flags = ['--disable-pip-version-check', '--no-input', '--no-cache-dir', '--progress-bar=off', ...from];
  const mount: Mount = { from: partial, to: '/job/env', mode: 'rw' };
  const command = ['-c', buildEnvironment, ...flags, '--', ...missing.map(({ text }) => text)];
  try {
    const network = pipIndexUrl !== undefined;
    const result = await inSandbox(build, { mount, network, command, step: 'install' }, signal);
    demand(result, `pip could not install ${describeMissing(missing)}`, signal);
    await rename(partial, target).catch(async (error: unknown) => {
      if (!(await stat(target).catch(() => undefined))) throw error;
    });
  } finally {
    await removeTree(partial);
  }
}

interface Step {
  readonly mount: Mount;
  readonly network: boolean;
  readonly command: readonly string[];
  readonly step: 'read' | 'install';
}
async function inSandbox(
  build: Build,
  { mount, network, command, step }: Step,
  signal: AbortSignal,
): Promise<SandboxResult> {
  const { sandboxes, environment, source, sources, limits } = build;
  const { wheelhouse } = sources;
  const uid = uidFor(sandboxes.host, build.name);
  if (sandboxes.host.isRoot) await chown(mount.from, uid, uid);
  const task: SandboxTask = {
    ...build,
    name: `${build.name}-${step}`,
    folder: path.join(build.folder, step),
    mounts: [
      ...environment.mounts,
      // The installed packages are cached for other scripts, so they must not depend on any file of this script.
      ...(step === 'read' ? [{ from: source, to: '/job/src', mode: 'ro' } as const] : []),
      ...(wheelhouse === undefined ? [] : [{ from: wheelhouse, to: '/job/wheelhouse', mode: 'ro' } as const]),
      mount,
    ],
    env: { PATH: '/usr/bin:/bin', HOME: home, LANG: 'C.UTF-8', PYTHONUNBUFFERED: '1' },
    cwd: '/tmp',
    command: pythonCommand(environment, environment.python, command),
    uid,
    network,
    gpus: [],
    limits: { ...limits, diskBytes: Math.max(limits.diskBytes, environmentBytes) },
    watched: [mount.from],
  };
  return runSandboxed(sandboxes, task, signal);
}

function demand({ end, lastLines }: SandboxResult, what: string, signal: AbortSignal): void {
  if (end.is === 'exited' && end.code === 0) return;
  signal.throwIfAborted();
  if (end.is === 'broken') throw new PlatformError('SANDBOX_UNAVAILABLE', { problem: end.problem });
  // pip's last ERROR line describes the cause better than the lines after it.
  const reason = lastLines.findLast((line) => line.startsWith('ERROR:')) ?? lastLines.at(-1);
  const how = end.is === 'exited' ? `exit code ${end.code}` : end.is === 'signaled' ? end.signal : end.is;
  throw new PlatformError('SCRIPT_BUILD_FAILED', {
    problem: `${what} (${how})${reason === undefined ? '' : `: ${reason}`}`,
  });
}

const digest = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

/** The cache key covers the packages, the Python, the index and the wheels. */
async function keyOf({ environment, sources }: Build, missing: readonly string[]): Promise<string> {
  const { wheelhouse, pipIndexUrl } = sources;
  const wheels = wheelhouse === undefined ? [] : (await readdir(wheelhouse)).toSorted();
  return digest([
    environment.python,
    environment.version,
    environment.description,
    missing.toSorted(),
    pipIndexUrl,
    wheels,
  ]);
}

/** Removes builds that ended with their runner. Call it only while no build runs. */
export async function sweepEnvironments(cache: string): Promise<void> {
  for (const name of await readdir(cache).catch(() => [])) {
    if (name.endsWith('.part')) await removeTree(path.join(cache, name));
  }
}

/** Keeps the most recently used environments. */
async function trim(cache: string): Promise<void> {
  const names = (await readdir(cache)).filter((name) => /^[0-9a-f]{32}$/.test(name));
  const used = await Promise.all(
    names.map(async (name) => ({ name, at: (await stat(path.join(cache, name))).mtimeMs })),
  );
  for (const { name } of used.toSorted((a, b) => b.at - a.at).slice(keptEnvironments)) {
    await removeTree(path.join(cache, name));
  }
}
