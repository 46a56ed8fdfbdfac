/**
 * Runs built-in trainers in bubblewrap because they decode untrusted images. They see their program and job folder, and
 * have no network.
 */
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { jobFiles, type JobEvent, type JobSpec } from '@platform/contract/job/job';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Clock, type Log } from '@platform/kit';
import type { Mount } from '@platform/sandbox/bwrap-plan';
import { uidFor, type Probe } from '@platform/sandbox/probe';
import { runSandboxed, type SandboxEnd, type Sandboxes, type SandboxTask } from '@platform/sandbox/sandbox';
import { describeSandbox, openUp } from '@platform/sandbox/script';
import { gpusHere } from '../gpus.ts';
import type { JobFolder } from '../job/folder.ts';
import { checkoutFolder, installationFolders, trainerProbe } from './command.ts';
import { noTelemetry } from './environment.ts';
import { forgetTrainer, rememberTrainer } from './orphan.ts';
import { TrainerReports, type TrainerEnd } from './trainer-process.ts';

export interface TrainerSandbox {
  readonly sandboxes: Sandboxes;
  /** Prefix of the names of all sandboxes of this runner. */
  readonly prefix: string;
}
/** The sandbox, or the reason why a trainer runs as a plain child process. */
export type Isolation = { readonly sandbox: TrainerSandbox } | { readonly because: string };

const processes = 512;
/** Upper bound per image: trainers keep decoded images in temporary files beside the result. */
const scratchBytesPerImage = 4 * 2 ** 20;
const home = '/tmp/home';

/** The job folder as the trainer sees it. */
export const insideFolder: JobFolder = { path: '/job', file: (name) => path.posix.join('/job', jobFiles[name]) };

/** Starts the pinned Node with the trainers' libraries once; a sandbox where that fails cannot run a trainer. */
export async function openTrainerSandbox(
  probe: Probe,
  prefix: string,
  { clock, log }: { clock: Clock; log: Log },
  signal: AbortSignal,
): Promise<Isolation> {
  if (!probe.ok) {
    log.warn('built-in trainers run without a sandbox', { because: probe.because });
    return { because: probe.because };
  }
  const { sandboxes } = probe;
  const problem = await tryTrainer({ sandboxes, prefix }, clock, signal);
  if (problem === undefined) {
    log.info('built-in trainers run in a sandbox', { limits: sandboxes.limiter.kind });
    return { sandbox: { sandboxes, prefix } };
  }
  const because = `Node does not start in a sandbox here: ${problem}`;
  log.warn('built-in trainers run without a sandbox', { because });
  return { because };
}

async function tryTrainer(
  { sandboxes, prefix }: TrainerSandbox,
  clock: Clock,
  signal: AbortSignal,
): Promise<string | undefined> {
  const folder = await mkdtemp(path.join(tmpdir(), 'platform-trainer-'));
  const name = `${prefix}-probe`;
  try {
    const { end, lastLines } = await runSandboxed(
      sandboxes,
      {
        ...taskOf(sandboxes, name, folder),
        mounts: programMounts(trainerProbe),
        env: insideEnv(noTelemetry, []),
        cwd: '/tmp',
        command: [process.execPath, trainerProbe],
        gpus: [],
        limits: { memoryBytes: 2 ** 30, processes, cpus: availableParallelism(), diskBytes: 2 ** 24 },
        watched: [],
        graceMs: 0,
        clock,
        onLine: () => {},
      },
      signal,
    );
    if (end.is === 'exited' && end.code === 0) return undefined;
    return lastLines.find((line) => /error|cannot|denied/i.test(line)) ?? lastLines.at(-1) ?? JSON.stringify(end);
  } catch (error) {
    if (signal.aborted) throw error;
    return errorText(error);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const taskOf = (
  { host }: Sandboxes,
  name: string,
  folder: string,
): Pick<SandboxTask, 'name' | 'folder' | 'uid' | 'network' | 'memoryWithoutGroup'> => ({
  name,
  folder,
  uid: uidFor(host, name),
  network: false,
  memoryWithoutGroup: 'counted',
});

/** Mounts Node, the packages and the trainer read-only under their own paths. In tests the trainer is elsewhere. */
function programMounts(program: string): Mount[] {
  const folders = installationFolders.map((name) => path.join(checkoutFolder, name));
  const isInside = folders.some((folder) => program.startsWith(`${folder}${path.sep}`));
  const seen = [process.execPath, ...folders, ...(isInside ? [] : [path.dirname(program)])];
  return seen.map((file) => ({ from: file, to: file, mode: 'ro', optional: true }));
}

/**
 * The environment inside the sandbox, derived from the runner's.
 *
 * @param gpus - renumbered from 0, whatever their numbers are outside.
 */
function insideEnv(env: Readonly<Record<string, string | undefined>>, gpus: readonly number[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, value] of Object.entries(env)) if (value !== undefined) found[key] = value;
  return {
    ...found,
    // nvidia-smi may be in a folder of the driver; inside, only host folders below /usr are visible.
    PATH: [...(env['PATH'] ?? '').split(':').filter((one) => one.startsWith('/usr/')), '/usr/bin', '/bin'].join(':'),
    HOME: home,
    TMPDIR: '/tmp',
    ...(env['CUDA_VISIBLE_DEVICES'] === undefined ? {} : { CUDA_VISIBLE_DEVICES: [...gpus.keys()].join(',') }),
  };
}

/**
 * Library folders that the operator names and the sandbox does not show yet. The system's folders are already mounted.
 * bubblewrap cannot mount them again where a part of the path is a link, such as /usr/local/cuda.
 */
export const libraryFolders = (searchPath = ''): string[] => [
  ...new Set(
    searchPath
      .split(':')
      .filter((one) => path.isAbsolute(one))
      .map((one) => path.normalize(one))
      .filter((one) => !/^\/(usr|lib|lib32|lib64)(\/|$)/.test(one)),
  ),
];

export interface SandboxedTrainerTask {
  readonly sandbox: TrainerSandbox;
  readonly spec: JobSpec;
  readonly folder: JobFolder;
  /** With the paths inside the sandbox. */
  readonly command: readonly string[];
  /** The trainer's own file. */
  readonly program: string;
  readonly images: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Added to the runner's own nice value. */
  readonly nice: number;
  readonly graceMs: number;
  readonly clock: Clock;
  onEvent(event: JobEvent): void;
  onLine(level: 'info' | 'warn' | 'error', line: string): void;
}

/** What the trainer sees: its program and libraries, its inputs read-only, and the files that it writes. */
function mountsOf({ program, env, folder, spec }: SandboxedTrainerTask): Mount[] {
  const mount = (file: Parameters<JobFolder['file']>[0], mode: Mount['mode']): Mount => ({
    from: folder.file(file),
    to: insideFolder.file(file),
    mode,
  });
  return [
    ...programMounts(program),
    ...libraryFolders(env['LD_LIBRARY_PATH']).map((one): Mount => ({ from: one, to: one, mode: 'ro', optional: true })),
    ...(['job', 'dataset', 'images'] as const).map((file) => mount(file, 'ro')),
    ...(spec.model ? [mount('model', 'ro')] : []),
    ...(['out', 'events'] as const).map((file) => mount(file, 'rw')),
  ];
}

/** Runs the trainer to its end, or ends it when the signal aborts: all its processes are gone then. */
export async function runSandboxedTrainer(task: SandboxedTrainerTask, signal: AbortSignal): Promise<TrainerEnd> {
  const { sandbox, spec, folder, clock, graceMs } = task;
  const { sandboxes, prefix } = sandbox;
  const { memory_mib: memoryMib, disk_mib: diskMib } = spec.limits;
  const name = `${prefix}-${spec.id.replace(/[^A-Za-z0-9-]/g, '-').slice(0, 64)}-${spec.attempt}`;
  const common = taskOf(sandboxes, name, path.join(folder.path, 'run'));
  const gpus = gpusHere(task.env['CUDA_VISIBLE_DEVICES']).map(Number).filter(Number.isInteger);
  const limits = {
    memoryBytes: memoryMib * 2 ** 20,
    processes,
    cpus: availableParallelism(),
    diskBytes: diskMib * 2 ** 20 + task.images * scratchBytesPerImage,
  };
  const written = [folder.file('out'), folder.file('events')];
  if (sandboxes.host.isRoot) for (const file of written) await chown(file, common.uid, common.uid);
  task.onLine('info', describeSandbox({ sandboxes, limits, network: false, gpus }));

  const reports = new TrainerReports(folder.file('events'), task);
  const ended = new AbortController();
  const listening = reports.listen(clock, ended.signal);
  try {
    const result = await runSandboxed(
      sandboxes,
      {
        ...common,
        mounts: mountsOf(task),
        env: insideEnv(task.env, gpus),
        cwd: insideFolder.path,
        command: ['/usr/bin/nice', '-n', String(task.nice), ...task.command],
        gpus,
        limits,
        watched: [folder.file('out')],
        graceMs,
        clock,
        onLine: (stream, line) => (stream === 'about' ? task.onLine('warn', line) : reports.line(stream, line)),
        onStart: (child) => rememberTrainer(folder.path, child),
      },
      signal,
    );
    ended.abort();
    await listening;
    return endOf(result.end, reports, memoryMib);
  } finally {
    ended.abort();
    await listening;
    forgetTrainer(folder.path);
    await openUp(folder.file('out'));
  }
}

function endOf(end: SandboxEnd, { lastError, lastLines }: TrainerReports, memoryMib: number): TrainerEnd {
  const ended = (code: number | null, signal: NodeJS.Signals | null = null): TrainerEnd => ({
    exit: { code, signal },
    reported: lastError,
    overMemoryMib: undefined,
    lastLines,
  });
  switch (end.is) {
    case 'exited':
      return ended(end.code);
    case 'signaled':
      return ended(null, end.signal as NodeJS.Signals);
    case 'stopped':
      return ended(null, 'SIGTERM');
    case 'outOfMemory': {
      const usedMib = Math.ceil(end.usedBytes / 2 ** 20);
      throw new PlatformError('OUT_OF_MEMORY', { usedMib, limitMib: memoryMib, problem: end.why ?? '' });
    }
    case 'diskLimit':
      throw new PlatformError('TRAINER_FAILED', { problem: `it wrote ${end.used}; the limit is ${end.limit}` });
    case 'broken':
      throw new PlatformError('SANDBOX_UNAVAILABLE', { problem: end.problem });
  }
}
