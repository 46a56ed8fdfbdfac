/** The long steps of an attempt: each runs beside the state machine and sends it an event at its end. */
import { PlatformError } from '@platform/contract/errors/errors';
import type { JobEvent, JobSpec } from '@platform/contract/job/job';
import { errorText, retry, type Secret } from '@platform/kit';
import { scriptWords } from '@platform/sandbox/script';
import type { Event } from './attempt-life.ts';
import { isPassing } from './cloud/queue.ts';
import { failureOfError, reportedFailure } from './failures.ts';
import type { JobFolder } from './job/folder.ts';
import { readOutputs, type JobFiles } from './job/outputs.ts';
import { prepareJob } from './prepare.ts';
import { prepareModel } from './prepare-model.ts';
import type { Reporter } from './reporter.ts';
import { pathInside, ScriptWork } from './script/script-work.ts';
import { trainerCommand } from './trainer/command.ts';
import { runTrainer, type TrainerEnd } from './trainer/trainer-process.ts';
import { insideFolder, runSandboxedTrainer, type TrainerSandbox } from './trainer/trainer-sandbox.ts';
import type { Workspace } from './workspace.ts';

export interface Task {
  spec: JobSpec;
  manifestSha256: string;
  credentials: { readonly id: string; readonly key: Secret } | undefined;
  folder: JobFolder;
  reporter: Reporter;
  push(event: Event): void;
}

/** Shares of the progress bar: download, training, upload. */
const trainingFrom = 0.03;
const trainingTo = 0.97;
const isScript = ({ kind }: JobSpec): boolean => kind === 'custom';
const share = (progress: number): number => trainingFrom + (trainingTo - trainingFrom) * progress;

export class Work {
  readonly #workspace: Workspace;
  readonly #task: Task;
  readonly #script: ScriptWork | undefined;
  readonly #abort = new AbortController();
  #current: Promise<void> = Promise.resolve();
  #outputs: JobFiles | undefined;
  #images = 0;

  constructor(workspace: Workspace, task: Task) {
    this.#workspace = workspace;
    this.#task = task;
    if (!isScript(task.spec)) return;
    if (!workspace.scripts)
      throw new PlatformError('SANDBOX_UNAVAILABLE', { problem: workspace.offer.noScriptsBecause });
    this.#script = new ScriptWork(workspace.scripts, { ...workspace, ...task, share });
  }

  begin(part: 'prepare' | 'train' | 'upload'): void {
    this.#current = this.#tellAfter(part);
  }
  async #tellAfter(part: 'prepare' | 'train' | 'upload'): Promise<void> {
    const { signal } = this.#abort;
    try {
      const event = await this.#run(part);
      if (!signal.aborted) this.#task.push(event);
    } catch (error) {
      if (signal.aborted) return;
      this.#workspace.log.warn('a part of the job failed', { part, error: errorText(error) });
      this.#task.push({ is: 'failed', failure: failureOfError(error) });
    }
  }
  /** The uploaded files. */
  get outputs(): JobFiles | undefined {
    return this.#outputs;
  }
  /** Ends the current step and waits for it. */
  async abandon(): Promise<Event> {
    this.#abort.abort();
    await this.#current;
    return { is: 'gone' };
  }

  #run(part: 'prepare' | 'train' | 'upload'): Promise<Event> {
    switch (part) {
      case 'prepare':
        return this.#prepare();
      case 'train':
        return this.#train();
      case 'upload':
        return this.#upload();
    }
  }
  #command(): string[] {
    const { spec, folder } = this.#task;
    if (this.#script) return ['python3', ...scriptWords('/job/dataset.jsonl', spec.arguments)];
    const program = this.#workspace.trainers[spec.kind];
    if (program === undefined) throw new PlatformError('UNSUPPORTED', { what: `training of kind ${spec.kind}` });
    return trainerCommand(program, spec, this.#sandbox ? insideFolder : folder);
  }
  /** Sandbox of a built-in trainer. */
  get #sandbox(): TrainerSandbox | undefined {
    const { isolation } = this.#workspace;
    return 'sandbox' in isolation ? isolation.sandbox : undefined;
  }
  /** Sandboxes that root creates have their own users. */
  get #reader(): 'owner' | 'other' {
    const isOther = this.#script ? this.#script.isOtherUser : this.#sandbox?.sandboxes.host.isRoot;
    return isOther ? 'other' : 'owner';
  }
  async #prepare(): Promise<Event> {
    const { spec, manifestSha256, folder, reporter } = this.#task;
    const { blobs, cache, clock } = this.#workspace;
    const onDone = (done: number, of: number): void =>
      reporter.stand({ phase: 'preparing', progress: (trainingFrom * done) / of, etaMs: undefined });
    const command = this.#command();
    const { signal } = this.#abort;
    const seenAs = this.#script ? { seenAs: pathInside } : {};
    const reader = this.#reader;
    const job = {
      spec,
      manifestSha256,
      folder,
      command,
      blobs,
      cache,
      clock,
      signal,
      onDone,
      reader,
      ...seenAs,
    } as const;
    this.#images = await prepareJob(job);
    reporter.line('info', `${this.#images} images are here.`);
    await this.#script?.prepare(signal);
    if (spec.model) await prepareModel(spec.model, { folder, blobs, clock, signal });
    return { is: 'prepared' };
  }
  async #train(): Promise<Event> {
    if (this.#script) return this.#script.run(this.#abort.signal);
    const end = await this.#runTrainer();
    const { memory_mib: memoryMib } = this.#task.spec.limits;
    if (end.overMemoryMib !== undefined) {
      throw new PlatformError('OUT_OF_MEMORY', { usedMib: end.overMemoryMib, limitMib: memoryMib });
    }
    const lastError = reportedFailure(end);
    return { is: 'exited', ...end.exit, ...(lastError === undefined ? {} : { lastError }) };
  }
  #runTrainer(): Promise<TrainerEnd> {
    const { spec, folder, reporter } = this.#task;
    const { graceMs, trainerNice: nice, clock, isolation, trainers } = this.#workspace;
    const { signal } = this.#abort;
    const env = { ...this.#workspace.env, PLATFORM_JOB_ID: spec.id, PLATFORM_ORG_ID: spec.org_id };
    const task = {
      folder,
      command: this.#command(),
      env,
      nice,
      graceMs,
      clock,
      onEvent: (event: JobEvent) => reporter.event(event, share),
      onLine: (level: string, line: string) => reporter.line(level, line),
    };
    if ('sandbox' in isolation) {
      const { sandbox } = isolation;
      const program = trainers[spec.kind] ?? '';
      return runSandboxedTrainer({ ...task, sandbox, spec, program, images: this.#images }, signal);
    }
    reporter.line('info', `No sandbox: the trainer runs with the rights of the runner. ${isolation.because}`);
    return runTrainer({ ...task, memoryMib: spec.limits.memory_mib }, signal);
  }
  async #upload(): Promise<Event> {
    const { spec, folder, reporter } = this.#task;
    const { blobs, clock } = this.#workspace;
    const { signal } = this.#abort;
    const outputs = await readOutputs(folder.file('out'), spec.limits.disk_mib * 2 ** 20, isScript(spec));
    for (const line of outputs.leftOut) reporter.line('warn', line);
    for (const [done, { path, sha256 }] of outputs.files.entries()) {
      const progress = trainingTo + ((1 - trainingTo) * done) / outputs.files.length;
      reporter.stand({ phase: 'uploading', progress, etaMs: undefined });
      const put = (_: number, inner: AbortSignal): Promise<void> =>
        blobs.put(sha256, `${folder.file('out')}/${path}`, inner);
      await retry(put, { clock, signal, attempts: Infinity, maxMs: 5_000, isRetryable: isPassing });
    }
    this.#outputs = outputs;
    return { is: 'uploaded' };
  }
}
