/** One run of a training script: its mounts, its command line, its reports and its failures. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError, type ErrorCode } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import type { Mount } from './bwrap-plan.ts';
import type { ResourceLimiter } from './resource-group.ts';
import type { Environment } from './environments.ts';
import { killedText } from './memory-failure.ts';
import { uidFor } from './probe.ts';
import { pythonCommand } from './python-programs.ts';
import { missingModule, moduleMissing } from './requirements.ts';
import { runSandboxed, type Sandboxes, type SandboxLimits, type SandboxResult } from './sandbox.ts';

export interface ScriptRun {
  readonly sandboxes: Sandboxes;
  readonly environment: Environment;
  /** Folder of a virtual environment with additional packages; see `prepareEnvironment`. */
  readonly packages: string | undefined;
  /** Unpacked project. */
  readonly source: string;
  /** `file`: its path inside. */
  readonly dataset: { readonly mounts: readonly Mount[]; readonly file: string };
  /** The operator's pretrained weights, read-only; undefined: none. */
  readonly weights: string | undefined;
  /** Empty folder for the result. */
  readonly out: string;
  /** Folder for what the script writes beside its result; created if missing. Its creator removes it. */
  readonly scratch: string;
  /** Folder that outlives the attempt; the script finds there what earlier attempts of the job saved. */
  readonly checkpoints: string;
  readonly arguments: Readonly<Record<string, string>>;
  /** Variables of this job, in addition to those of every script. */
  readonly env: Readonly<Record<string, string>>;
  readonly limits: SandboxLimits;
  /** Added to the caller's own nice value. */
  readonly nice: number;
  readonly network: boolean;
  /** Numbers of the GPUs that it may use. */
  readonly gpus: readonly number[];
  /** Work folder of this run; its creator removes it. */
  readonly folder: string;
  readonly name: string;
  readonly graceMs: number;
  readonly clock: Clock;
  onLine(stream: 'out' | 'err' | 'about', line: string): void;
  onStart?(child: { pid: number; startTime: string }): void;
}
/** Paths inside the sandbox. */
const inside = {
  /** The scratch folder. It is the working directory, so that relative paths can be written. */
  work: '/job',
  source: '/job/src',
  packages: '/job/env',
  out: '/job/out',
  home: '/job/.home',
  tmp: '/job/.tmp',
  checkpoints: '/job/checkpoints',
  weights: '/job/weights',
} as const;

/** Places where common libraries write. Most of them follow HOME; these read variables of their own first. */
const libraryFolders = {
  XDG_CACHE_HOME: `${inside.home}/.cache`,
  XDG_CONFIG_HOME: `${inside.home}/.config`,
  XDG_DATA_HOME: `${inside.home}/.local/share`,
  HF_HOME: `${inside.home}/.cache/huggingface`,
  KERAS_HOME: `${inside.home}/.keras`,
  MPLCONFIGDIR: `${inside.home}/.config/matplotlib`,
  NUMBA_CACHE_DIR: `${inside.home}/.cache/numba`,
  TORCH_HOME: `${inside.home}/.cache/torch`,
  YOLO_CONFIG_DIR: `${inside.home}/.config`,
} as const;

const kinds: Readonly<Record<ResourceLimiter['kind'], string>> = {
  systemd: 'a systemd scope',
  cgroup2: 'a control group (v2)',
  cgroup1: 'a control group (v1)',
  prlimit: 'limits of each process (no control group here)',
};
const mib = (bytes: number): string => `${Math.floor(bytes / 2 ** 20)} MiB`;

/** Describes the run for the job's log. */
export function describeRun(run: ScriptRun): string {
  return `${describeSandbox(run)} ${run.environment.description}.`;
}

/** Describes the limits of the sandbox. */
export function describeSandbox({
  sandboxes,
  limits,
  network,
  gpus,
}: Pick<ScriptRun, 'sandboxes' | 'limits' | 'network' | 'gpus'>): string {
  const { memoryBytes, processes, cpus, diskBytes } = limits;
  const amount = `${mib(memoryBytes)} of memory, ${processes} processes, ${cpus} CPU${cpus === 1 ? '' : 's'}, ${mib(diskBytes)} of disk`;
  const graphics = gpus.length > 0 ? `, ${gpus.length} GPU${gpus.length === 1 ? '' : 's'}` : '';
  return `Sandbox: bubblewrap with ${kinds[sandboxes.limiter.kind]}: ${amount}${graphics}, ${network ? 'network of this host' : 'no network'}.`;
}

/** Command line of the script contract, without the interpreter. */
export const scriptWords = (datasetFile: string, flags: Readonly<Record<string, string>>): string[] => [
  '-m',
  'model.training',
  `--dataset_file=${datasetFile}`,
  `--model_output_directory=${inside.out}`,
  ...Object.entries(flags).map(([key, value]) => `--${key}=${value}`),
];

/** The complete environment of a script. */
export function scriptEnv(
  run: Pick<ScriptRun, 'env' | 'gpus' | 'limits' | 'packages' | 'weights'>,
): Record<string, string> {
  // CUDA renumbers visible devices from 0, whatever their numbers are outside.
  const devices = [...run.gpus.keys()].join(',');
  return {
    PATH: `${run.packages === undefined ? '' : `${inside.packages}/bin:`}/usr/local/bin:/usr/bin:/bin`,
    HOME: inside.home,
    TMPDIR: inside.tmp,
    ...libraryFolders,
    LANG: 'C.UTF-8',
    PYTHONUNBUFFERED: '1',
    PYTHONPATH: inside.source,
    OMP_NUM_THREADS: String(Math.max(1, Math.floor(run.limits.cpus))),
    PLATFORM_CHECKPOINT_DIR: inside.checkpoints,
    ...(run.weights === undefined ? {} : { PLATFORM_WEIGHTS_DIR: inside.weights }),
    ...(run.gpus.length > 0 ? { CUDA_VISIBLE_DEVICES: devices } : {}),
    ...run.env,
  };
}

/** Runs the script to its end. When the signal aborts: TERM, the grace period, then KILL for all its processes. */
export async function runScript(run: ScriptRun, signal: AbortSignal): Promise<SandboxResult> {
  const { sandboxes, environment, packages, source, dataset, out, scratch, checkpoints, weights } = run;
  const uid = uidFor(sandboxes.host, run.name);
  const written = [out, ...(await makeScratch(scratch))];
  if (sandboxes.host.isRoot) {
    for (const folder of written) await chown(folder, uid, uid);
    await giveTree(checkpoints, uid);
  }
  const python = packages === undefined ? environment.python : `${inside.packages}/bin/python`;
  try {
    return await runSandboxed(
      sandboxes,
      {
        ...run,
        uid,
        mounts: [
          ...environment.mounts,
          // The others lie inside of it.
          { from: scratch, to: inside.work, mode: 'rw' },
          { from: source, to: inside.source, mode: 'ro' },
          ...(packages === undefined ? [] : [{ from: packages, to: inside.packages, mode: 'ro' } as const]),
          ...dataset.mounts,
          ...(weights === undefined ? [] : [{ from: weights, to: inside.weights, mode: 'ro' } as const]),
          { from: out, to: inside.out, mode: 'rw' },
          { from: checkpoints, to: inside.checkpoints, mode: 'rw' },
        ],
        env: scriptEnv(run),
        cwd: inside.work,
        command: [
          ...(run.nice === 0 ? [] : ['/usr/bin/nice', '-n', String(run.nice)]),
          ...pythonCommand(environment, python, scriptWords(dataset.file, run.arguments)),
        ],
        watched: [out, scratch, checkpoints],
      },
      signal,
    );
  } finally {
    await openUp(out);
  }
}

/** Each attempt has a user of its own, and needs the files of the attempts before. Changes links themselves only. */
async function giveTree(folder: string, uid: number): Promise<void> {
  const change = spawn('chown', ['-RhP', `${uid}:${uid}`, '--', folder], { stdio: 'ignore' });
  const [code] = (await once(change, 'close')) as [number | null];
  if (code !== 0) throw new Error(`The checkpoints in ${folder} could not be given to the user of the attempt.`);
}

async function makeScratch(scratch: string): Promise<string[]> {
  const folders = [inside.work, inside.home, inside.tmp].map((name) =>
    path.join(scratch, path.posix.relative(inside.work, name)),
  );
  for (const folder of folders) await mkdir(folder, { recursive: true });
  return folders;
}

/** Limit of the folder depth in a result. */
const deepest = 32;

/** Restores access to folders that a script made inaccessible to their owner, so that they can be read and removed. */
export async function openUp(folder: string, depth = 0): Promise<void> {
  if (depth > deepest) return;
  const { mode } = await stat(folder);
  if ((mode & 0o700) !== 0o700) await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    // Node cannot open a name that is not valid UTF-8: such a file is not part of a result.
    if (entry.isFile()) await chmod(file, 0o644).catch(() => {});
    else if (entry.isDirectory() && !entry.name.includes('\uFFFD')) await openUp(file, depth + 1);
  }
}

export interface ScriptFailure {
  readonly cause: 'script' | 'infrastructure';
  readonly code: ErrorCode;
  readonly message: string;
}

/** The failure; undefined after a success and after a requested stop. */
export function scriptFailure(result: SandboxResult, limits: SandboxLimits): ScriptFailure | undefined {
  const { end } = result;
  const of = (cause: ScriptFailure['cause'], error: PlatformError): ScriptFailure =>
    withLastLines(cause, error, result);
  const failed = (problem: string): ScriptFailure => of('script', new PlatformError('SCRIPT_FAILED', { problem }));
  switch (end.is) {
    case 'stopped':
      return undefined;
    case 'exited':
      return end.code === 0 ? undefined : failed(`it ended with exit code ${end.code}`);
    case 'signaled':
      return failed(`it was ended by ${end.signal}`);
    case 'outOfMemory':
      return of('script', outOfMemory(end.usedBytes, limits, end.why));
    case 'diskLimit':
      return of('script', new PlatformError('SCRIPT_DISK_LIMIT', { used: end.used, limit: end.limit }));
    case 'broken':
      return of('infrastructure', new PlatformError('SANDBOX_UNAVAILABLE', { problem: end.problem }));
  }
}

/** Like `scriptFailure`, and names a module of others that the script could not import. */
export async function describeFailure(result: SandboxResult, run: ScriptRun): Promise<ScriptFailure | undefined> {
  const failure = scriptFailure(result, run.limits);
  const module = failure?.code === 'SCRIPT_FAILED' ? missingModule(result.lastLines) : undefined;
  if (failure === undefined || module === undefined) return failure;
  const [top = ''] = module.split('.');
  const own = (await readdir(run.source)).some((name) => name === top || name === `${top}.py`);
  return own ? failure : withLastLines('script', moduleMissing(run.environment, module), result);
}

function withLastLines(
  cause: ScriptFailure['cause'],
  error: PlatformError,
  { lastLines }: Pick<SandboxResult, 'lastLines'>,
): ScriptFailure {
  const lastOutput = lastLines.length === 0 ? '' : `\nIts last lines:\n${lastLines.join('\n')}`;
  return { cause, code: error.code, message: `${error.what} ${error.remedy}${cause === 'script' ? lastOutput : ''}` };
}

function outOfMemory(usedBytes: number, { memoryBytes }: SandboxLimits, why = ''): PlatformError {
  const [usedMib, limitMib] = [Math.ceil(usedBytes / 2 ** 20), Math.floor(memoryBytes / 2 ** 20)];
  return new PlatformError('OUT_OF_MEMORY', { usedMib, limitMib, problem: why });
}

/** Warning for a successful script whose processes were killed for memory; undefined if none was. */
export function memoryLoss(result: SandboxResult, limits: SandboxLimits): ScriptFailure | undefined {
  if (result.oomKills === 0) return undefined;
  const { what, remedy, code } = outOfMemory(result.peakBytes, limits, killedText(result.oomKills));
  return { cause: 'script', code, message: `${what} ${remedy}` };
}

export interface ScriptReport {
  /** For example {"epoch": 3, "loss": 0.4}. */
  readonly metric?: Readonly<Record<string, number | string>>;
  /** 0..1 */
  readonly progress?: number;
  readonly etaSeconds?: number;
}

/** Parses a line of stdout that is a JSON object with `epoch`, `loss` or `progress`. */
export function parseReport(line: string): ScriptReport | undefined {
  if (!line.startsWith('{') || !line.endsWith('}') || line.length > 10_000) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const entries = Object.entries(value as Record<string, unknown>);
  const numbers = new Map(entries.filter((entry): entry is [string, number] => Number.isFinite(entry[1])));
  const progress = numbers.get('progress');
  const eta = numbers.get('eta_s') ?? numbers.get('eta_seconds');
  const isMetric = numbers.has('epoch') || numbers.has('loss');
  const values = entries.filter(
    (entry): entry is [string, number | string] => Number.isFinite(entry[1]) || typeof entry[1] === 'string',
  );
  if (!isMetric && progress === undefined) return undefined;
  return {
    ...(isMetric ? { metric: Object.fromEntries(values) } : {}),
    ...(progress !== undefined && progress >= 0 && progress <= 1 ? { progress } : {}),
    ...(eta !== undefined && eta >= 0 ? { etaSeconds: eta } : {}),
  };
}

/** The first `count` GPUs of CUDA_VISIBLE_DEVICES, as an engine or the operator set it; otherwise of all. */
export function gpusFor(count: number, visible: string | undefined): number[] {
  const known = /^\d+(,\d+)*$/.test(visible ?? '') ? (visible ?? '').split(',').map(Number) : undefined;
  return known ? known.slice(0, count) : Array.from({ length: count }, (_, number) => number);
}
