/** The Pythons of this host that scripts may use, by the names that jobs request. */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Clock } from '@platform/kit';
import type { Mount } from './bwrap-plan.ts';
import { uidFor } from './probe.ts';
import { pythonCommand } from './python-programs.ts';
import { runSandboxed, type Sandboxes } from './sandbox.ts';

export interface Environment {
  /** For example `py:3.11`. */
  readonly key: string;
  /** Absolute path of the interpreter, with links and shims resolved. */
  readonly python: string;
  /** For example `3.11.2`. */
  readonly version: string;
  /** `tensorflow`, `pytorch` or `python`. */
  readonly framework: string;
  readonly description: string;
  /** End of upstream support, ms since 1970. */
  readonly endOfLife: number | undefined;
  /** Mounts in addition to the system's folders. */
  readonly mounts: readonly Mount[];
}
export interface NamedPython {
  /** Undefined: `py:<major.minor>`. */
  readonly key: string | undefined;
  readonly python: string;
}

/** End of security updates per PEP 619, 664, 693, 719, 745 and later ones. */
export const endsOfLife: Readonly<Record<string, number>> = {
  '3.8': Date.UTC(2024, 9, 7),
  '3.9': Date.UTC(2025, 9, 31),
  '3.10': Date.UTC(2026, 9, 31),
  '3.11': Date.UTC(2027, 9, 31),
  '3.12': Date.UTC(2028, 9, 31),
  '3.13': Date.UTC(2029, 9, 31),
  '3.14': Date.UTC(2030, 9, 31),
};
const keyForm = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$/;

/**
 * Parses `py:3.11=/usr/bin/python3,tf:2.17=/opt/tf/bin/python`; a path alone gets its name from its version.
 *
 * @throws Error with a message for users.
 */
export function parsePythons(text: string): NamedPython[] {
  const pythons: NamedPython[] = [];
  for (const one of text.split(',').map((part) => part.trim())) {
    if (one === '') continue;
    const equals = one.indexOf('=');
    const key = equals < 0 ? undefined : one.slice(0, equals);
    const python = one.slice(equals + 1);
    if (key !== undefined && !keyForm.test(key)) {
      throw new Error(`"${key}" cannot be the name of a container: letters, digits and . _ - : only, such as py:3.11.`);
    }
    if (!path.isAbsolute(python))
      throw new Error(`"${python}" must be an absolute path, as in py:3.11=/usr/bin/python3.`);
    if (key !== undefined && pythons.some((other) => other.key === key))
      throw new Error(`The container ${key} is named twice.`);
    pythons.push({ key, python });
  }
  return pythons;
}

interface Answer {
  version: string;
  executable: string;
  folders: string[];
  packages: Record<string, string>;
}
/** Reads package versions without importing the packages. */
const question = `
import json, os, sys
from importlib import metadata
packages = {}
for name in ("numpy", "tensorflow", "torch", "onnx", "scikit-learn", "pillow"):
    try:
        packages[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
folders = {os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.dirname(sys.executable)))}
print(json.dumps({"version": "%d.%d.%d" % sys.version_info[:3], "executable": sys.executable, "folders": sorted(folders), "packages": packages}))
`;

function ask(python: string, env: Record<string, string | undefined>): Answer | string {
  const done = spawnSync(python, ['-I', '-c', question], { encoding: 'utf8', env, timeout: 30_000 });
  if (done.error) return `${python} cannot be started: ${done.error.message}`;
  try {
    return JSON.parse(done.stdout) as Answer;
  } catch {
    return `${python} is not Python 3.8 or later: ${done.stderr.trim().split('\n').at(-1) ?? ''}`;
  }
}

export function describe(key: string | undefined, answer: Answer): Environment {
  const { version, executable, folders, packages } = answer;
  const minor = version.split('.').slice(0, 2).join('.');
  const framework = packages['tensorflow'] ? 'tensorflow' : packages['torch'] ? 'pytorch' : 'python';
  const has = Object.entries(packages).map(([name, its]) => `${name} ${its}`);
  return {
    key: key ?? `py:${minor}`,
    python: executable,
    version,
    framework,
    description: `Python ${version}${has.length > 0 ? ` with ${has.join(', ')}` : ''}`,
    endOfLife: endsOfLife[minor],
    mounts: outermost(folders).map((folder) => ({ from: folder, to: folder, mode: 'ro' })),
  };
}

/** Drops folders in /usr, which is always mounted, and folders inside another one of them. */
function outermost(folders: readonly string[]): string[] {
  const inside = (folder: string, other: string): boolean => folder === other || folder.startsWith(`${other}/`);
  return folders
    .filter((folder) => folder !== '/' && !inside(folder, '/usr'))
    .filter(
      (folder, at, all) => !all.some((other, i) => i !== at && inside(folder, other) && (folder !== other || i < at)),
    );
}

/**
 * Returns the Pythons that start in a sandbox, in the given order, and the problems of the others. Without `wanted`:
 * the python3 of PATH.
 */
export async function findEnvironments(
  sandboxes: Sandboxes,
  wanted: readonly NamedPython[],
  env: Record<string, string | undefined>,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ environments: Environment[]; problems: string[] }> {
  const environments: Environment[] = [];
  const problems: string[] = [];
  const candidates = wanted.length > 0 ? wanted : [{ key: undefined, python: 'python3' }];
  for (const { key, python } of candidates) {
    const answer = ask(python, env);
    if (typeof answer === 'string') {
      problems.push(answer);
      continue;
    }
    const environment = describe(key, answer);
    if (environments.some((one) => one.key === environment.key)) {
      problems.push(`${python} would be ${environment.key}, as another one is: name it, as in other:1=${python}`);
      continue;
    }
    const problem = await starts(sandboxes, environment, clock, signal);
    if (problem === undefined) environments.push(environment);
    else problems.push(`${python} does not start in the sandbox: ${problem}`);
  }
  return { environments, problems };
}

async function starts(
  sandboxes: Sandboxes,
  environment: Environment,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(tmpdir(), 'platform-python-'));
  const name = path.basename(folder).replace(/[^A-Za-z0-9-]/g, '-');
  try {
    const limits = { memoryBytes: 2 ** 30, processes: 64, cpus: 1, diskBytes: 2 ** 24 };
    const task = {
      name,
      folder,
      mounts: environment.mounts,
      env: { PATH: '/usr/bin:/bin', HOME: '/tmp/home' },
      cwd: '/tmp',
      command: pythonCommand(environment, environment.python, ['-c', 'import json, ssl, ctypes']),
      uid: uidFor(sandboxes.host, name),
      network: false,
      gpus: [],
      limits,
      watched: [],
      graceMs: 0,
      clock,
      onLine: () => {},
    };
    const { end, lastLines } = await runSandboxed(sandboxes, task, signal);
    if (end.is === 'exited' && end.code === 0) return undefined;
    return lastLines.at(-1) ?? JSON.stringify(end);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
