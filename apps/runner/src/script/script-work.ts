/** The steps of an attempt that differ for a training script: its archive, its packages, its run. */
import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import type { JobSpec } from '@platform/contract/job/job';
import { formatBytes, retry, type Clock, type Secret } from '@platform/kit';
import { unpackScriptArchive } from '@platform/sandbox/archive';
import { prepareEnvironment } from '@platform/sandbox/build';
import { diskUse } from '@platform/sandbox/disk-use';
import type { Environment } from '@platform/sandbox/environments';
import { resultFiles } from '@platform/sandbox/result-files';
import type { SandboxResult } from '@platform/sandbox/sandbox';
import {
  describeFailure,
  describeRun,
  gpusFor,
  memoryLoss,
  parseReport,
  runScript,
  type ScriptFailure,
  type ScriptRun,
} from '@platform/sandbox/script';
import type { Event } from '../attempt-life.ts';
import type { Blobs } from '../cloud/blobs.ts';
import { isPassing } from '../cloud/queue.ts';
import type { CheckpointStore } from '../job/checkpoints.ts';
import type { JobFolder } from '../job/folder.ts';
import type { Reporter } from '../reporter.ts';
import { forgetTrainer, rememberTrainer } from '../trainer/orphan.ts';
import type { Scripts } from './open-scripts.ts';

export interface ScriptTask {
  readonly spec: JobSpec;
  /** API key with which the script may call the server; undefined if it has none. */
  readonly credentials: { readonly id: string; readonly key: Secret } | undefined;
  readonly folder: JobFolder;
  readonly reporter: Reporter;
  readonly blobs: Blobs;
  readonly checkpoints: CheckpointStore;
  readonly graceMs: number;
  /** The runner's environment; it determines which GPUs this job may use. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Maps the script's progress to that of the whole job. */
  share(progress: number): number;
}

/** Paths inside the sandbox, below /job, in addition to those of every script. */
const place = { root: '/job', dataset: '/job/dataset.jsonl', images: '/job/data' } as const;

const everything = { bytes: Infinity, entries: Infinity } as const;

/** Path of an image inside the sandbox. */
export const pathInside = (local: string): string => path.posix.join(place.root, local);

function environmentOf({ environments }: Scripts, { container_version: wanted }: JobSpec): Environment {
  const found = wanted === undefined ? environments[0] : environments.find(({ key }) => key === wanted);
  if (found) return found;
  const known = environments.map(({ key }) => key).join(', ');
  throw new PlatformError('CONTAINER_NOT_FOUND', { container: wanted ?? '', known });
}

export class ScriptWork {
  readonly #scripts: Scripts;
  readonly #task: ScriptTask;
  #packages: string | undefined;

  constructor(scripts: Scripts, task: ScriptTask) {
    this.#scripts = scripts;
    this.#task = task;
  }

  /** Whether the script runs as another user: sandboxes that root creates have their own users. */
  get isOtherUser(): boolean {
    return this.#scripts.sandboxes.host.isRoot;
  }

  /** Downloads the script and installs its dependencies. The images and the dataset file are already in place. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { spec, folder, reporter, blobs, clock } = this.#task;
    const { script } = spec;
    if (!script) throw new PlatformError('INVALID_ARGUMENT', { field: 'job.script', limit: 'a custom job needs one' });
    const archive = path.join(folder.path, 'script.tar.gz');
    const get = (_: number, inner: AbortSignal): Promise<void> => blobs.get(script.package_sha256, archive, inner);
    await retry(get, { clock, signal, attempts: Infinity, firstMs: 200, maxMs: 5_000, isRetryable: isPassing });
    const { files } = await unpackScriptArchive(createReadStream(archive), this.#source);
    await rm(archive);
    reporter.line('info', `Script ${script.registry_item_id} ${script.version}: ${files} files.`);
    const { wheelhouse, pipIndexUrl } = this.#scripts.options;
    this.#packages = await prepareEnvironment(
      {
        ...this.#common('build'),
        sourceId: script.package_sha256,
        cache: this.#scripts.cache,
        sources: {
          ...(wheelhouse === undefined ? {} : { wheelhouse }),
          ...(pipIndexUrl === undefined ? {} : { pipIndexUrl }),
        },
        onLine: (stream, line) => this.#log(stream, line),
      },
      signal,
    ).finally(() => forgetTrainer(this.#task.folder.path));
  }

  /** Runs the script to its end. After an abort all its processes are gone, and the event is ignored. */
  run(signal: AbortSignal): Promise<Event> {
    const { checkpoints, spec } = this.#task;
    return checkpoints.use(spec.id, (kept) => this.#runWith(kept, signal));
  }
  async #runWith(checkpoints: string, signal: AbortSignal): Promise<Event> {
    const { folder, reporter, share } = this.#task;
    const { bytes, entries } = await diskUse(checkpoints, everything);
    if (entries > 0) {
      reporter.line('info', `An earlier attempt left checkpoints (${formatBytes(bytes)}).`);
    }
    const run = this.#planOf(checkpoints);
    reporter.line('info', describeRun(run));
    reporter.stand({ phase: 'training', progress: share(0), etaMs: undefined });
    const result = await runScript(run, signal).finally(() => forgetTrainer(folder.path));
    const failure = (await describeFailure(result, run)) ?? (await this.#memoryLoss(result, run));
    return failure ? { is: 'failed', failure } : { is: 'exited', code: 0, signal: null };
  }
  #planOf(checkpoints: string): ScriptRun {
    const { spec, folder, credentials } = this.#task;
    return {
      ...this.#common('run'),
      packages: this.#packages,
      dataset: {
        mounts: [
          { from: folder.file('dataset'), to: place.dataset, mode: 'ro' },
          { from: folder.file('images'), to: place.images, mode: 'ro' },
        ],
        file: place.dataset,
      },
      out: folder.file('out'),
      scratch: path.join(folder.path, 'scratch'),
      checkpoints,
      arguments: spec.arguments,
      env: {
        PLATFORM_JOB_ID: spec.id,
        PLATFORM_ORG_ID: spec.org_id,
        PLATFORM_BASE_URL: this.#scripts.url,
        VIAM_BASE_URL: this.#scripts.url,
        ...(credentials === undefined ? {} : { API_KEY_ID: credentials.id, API_KEY: credentials.key.reveal() }),
      },
      nice: this.#scripts.options.nice,
      weights: this.#scripts.options.weights,
      network: this.#scripts.options.network,
      gpus: gpusFor(spec.limits.gpus ?? 0, this.#task.env['CUDA_VISIBLE_DEVICES']),
      onLine: (stream, line) => this.#hear(stream, line),
    };
  }

  /** A script may succeed although the kernel killed a child for memory. Without a result, that is the cause. */
  async #memoryLoss(result: SandboxResult, { limits, out }: ScriptRun): Promise<ScriptFailure | undefined> {
    const loss = result.end.is === 'exited' ? memoryLoss(result, limits) : undefined;
    if (loss === undefined) return undefined;
    this.#task.reporter.line('warn', `${loss.code}: ${loss.message}`);
    return (await resultFiles(out)).paths.length === 0 ? loss : undefined;
  }

  get #source(): string {
    return path.join(this.#task.folder.path, 'src');
  }
  #common(step: string) {
    const { sandboxes, options, prefix } = this.#scripts;
    const { spec, folder, graceMs, clock } = this.#task;
    const { memory_mib: memoryMib, disk_mib: diskMib } = spec.limits;
    return {
      sandboxes,
      environment: environmentOf(this.#scripts, spec),
      source: this.#source,
      folder: path.join(folder.path, step),
      name: `${prefix}-${spec.id.replace(/[^A-Za-z0-9-]/g, '-').slice(0, 64)}-${spec.attempt}`,
      limits: {
        memoryBytes: memoryMib * 2 ** 20,
        diskBytes: diskMib * 2 ** 20,
        processes: options.processes,
        cpus: options.cpus,
      },
      graceMs,
      clock,
      onStart: (child: { pid: number; startTime: string }) => rememberTrainer(folder.path, child),
    };
  }
  #log(stream: 'out' | 'err' | 'about', line: string): void {
    this.#task.reporter.line(stream === 'err' ? 'error' : stream === 'out' ? 'info' : 'warn', line);
  }
  #hear(stream: 'out' | 'err' | 'about', line: string): void {
    const { reporter, share } = this.#task;
    this.#log(stream, line);
    const news = stream === 'out' ? parseReport(line) : undefined;
    if (!news) return;
    if (news.metric) reporter.metric(news.metric);
    if (news.progress === undefined) return;
    const etaMs = news.etaSeconds === undefined ? undefined : news.etaSeconds * 1000;
    reporter.stand({ phase: 'training', progress: share(news.progress), etaMs });
  }
}
