/** A small management server over real HTTP: one queue with leases, fencing and orders, and a store of files. */
import { createHash } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { JsonObject } from '@bufbuild/protobuf';
import { Code, ConnectError, type ConnectRouter } from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { httpStatusOf, PlatformError } from '@platform/contract/errors/errors';
import {
  RunnerService,
  type LeaseJobRequest,
  type ReportJobRequest,
} from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import type { DatasetLine, JobSpec } from '@platform/contract/job/job';
import { Cell, changedOr } from '@platform/kit';
import { systemClock } from '@platform/kit/node';

export interface QueuedImage {
  bytes: Buffer;
  label?: string;
  split?: DatasetLine['split'];
}
export interface QueuedJob {
  spec: JobSpec;
  manifestSha256: string;
  state: 'pending' | 'in_progress' | 'canceling' | 'completed' | 'failed' | 'canceled' | 'lost';
  attempt: number;
  runnerId: string;
  logs: { sequence: number; level: string; message: string }[];
  metrics: JsonObject[];
  /** Lines and metrics of the attempt: what comes a second time, because its answer was lost, is kept once. */
  heard: Set<string>;
  progress: number[];
  phases: Set<string>;
  files: { path: string; sha256: string; size: number }[];
  evaluation: JsonObject | undefined;
  failure: { cause: string; code: string; message: string } | undefined;
}

const sha256Of = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const leaseLost = (): ConnectError => new ConnectError(new PlatformError('LEASE_LOST', {}).message, Code.Aborted);

export class QueueServer implements AsyncDisposable {
  readonly blobs = new Map<string, Buffer>();
  readonly jobs: QueuedJob[] = [];
  /** Ordered log of what runners did, without heartbeats. */
  readonly calls: string[] = [];
  readonly downloads: string[] = [];
  /** The capabilities of each request for work. */
  readonly offers: LeaseJobRequest[] = [];
  /** The next calls of this name answer Unavailable. */
  readonly outages = new Map<string, number>();
  /** Results are refused with this. */
  refusal: PlatformError | undefined;
  /** As the real one does, a failure of the infrastructure returns the job to the queue. */
  isRetrying = false;
  /** Files are refused with this. */
  noRoom: PlatformError | undefined;
  /** Token that is valid now; changing it makes runners sign in again. */
  token = 'token-1';
  readonly #turns = new Cell(0);
  #server: Server | undefined;

  /** @param tls - certificate and key in PEM. @returns its address. */
  async start({ tls, port = 0 }: { tls?: { cert: string; key: string }; port?: number } = {}): Promise<string> {
    const rpc = connectNodeAdapter({ routes: (router) => this.#routes(router) });
    const listener: RequestListener = (request, response) => {
      const sha256 = /^\/blobs\/([0-9a-f]{64})$/.exec(request.url ?? '')?.[1];
      if (sha256 === undefined) return rpc(request, response);
      if (!this.#isKnown(request.headers.authorization)) return response.writeHead(401).end();
      if (request.method === 'GET') {
        this.downloads.push(sha256);
        if (this.#isOut('GET')) return response.writeHead(503).end();
        const bytes = this.blobs.get(sha256);
        return bytes ? response.end(bytes) : response.writeHead(404).end();
      }
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const bytes = Buffer.concat(parts);
        if (this.#isOut('PUT')) return response.writeHead(503).end();
        if (this.noRoom) {
          const { code, what: message, remedy } = this.noRoom;
          return response.writeHead(httpStatusOf(code)).end(JSON.stringify({ code, message, remedy }));
        }
        if (sha256Of(bytes) !== sha256) return response.writeHead(400).end('HASH_MISMATCH');
        this.blobs.set(sha256, bytes);
        return response.writeHead(201).end();
      });
    };
    const server = tls ? createSecureServer(tls, listener) : createServer(listener);
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return `http${tls ? 's' : ''}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  /** Away, as when it is being restarted; `start` with its port brings it back. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (!server) return;
    const closed = new AbortController();
    server.close(() => closed.abort());
    // Also those that were still being made.
    while (!closed.signal.aborted) {
      server.closeAllConnections();
      await systemClock.sleep(20, closed.signal);
    }
  }
  [Symbol.asyncDispose] = (): Promise<void> => this.stop();

  store(bytes: Buffer): string {
    const sha256 = sha256Of(bytes);
    this.blobs.set(sha256, bytes);
    return sha256;
  }
  /** A job with these images, or with this many small files as images. */
  submit(change: Partial<JobSpec> = {}, images: number | readonly QueuedImage[] = 3): QueuedJob {
    const files =
      typeof images === 'number'
        ? Array.from({ length: images }, (_, i): QueuedImage => ({ bytes: Buffer.from(`image ${i}`) }))
        : images;
    const lines = files.map(({ bytes, label = 'a', split = 'train' }, i): DatasetLine => {
      return {
        image_path: `p${i}.jpg`,
        sha256: this.store(bytes),
        size_bytes: bytes.length,
        file_name: `p${i}.jpg`,
        split,
        classification_annotations: [{ annotation_label: label }],
        bounding_box_annotations: [],
        timestamp: '',
        part_id: '',
        component_name: '',
      };
    });
    const manifest = Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    const spec: JobSpec = {
      id: `job-${this.jobs.length + 1}`,
      attempt: 0,
      org_id: 'org',
      kind: 'single_label_classification',
      model_name: 'm',
      model_version: 'v',
      labels: [],
      arguments: {},
      seed: 1,
      limits: { wall_seconds: 60, memory_mib: 4096, disk_mib: 100 },
      deadline: '2100-01-01T00:00:00Z',
      ...change,
    };
    const job: QueuedJob = {
      spec,
      manifestSha256: this.store(manifest),
      state: 'pending',
      attempt: 0,
      runnerId: '',
      logs: [],
      metrics: [],
      heard: new Set(),
      progress: [],
      phases: new Set(),
      files: [],
      evaluation: undefined,
      failure: undefined,
    };
    this.jobs.push(job);
    this.#turn();
    return job;
  }
  cancel(job: QueuedJob): void {
    if (job.state === 'in_progress') job.state = 'canceling';
    this.#turn();
  }
  /** Another runner has the job now, so to speak. */
  takeAway(job: QueuedJob): void {
    job.state = 'lost';
    job.attempt++;
    this.#turn();
  }
  /** Waits for what the test wants to see; throws after a long time so that a hang names itself. */
  async until(what: string, isTrue: () => boolean, patienceMs = 20_000): Promise<void> {
    const end = systemClock.now() + patienceMs;
    while (!isTrue()) {
      if (systemClock.now() > end) throw new Error(`${what} did not happen; calls: ${this.calls.join(', ')}`);
      await changedOr(this.#turns, 20, systemClock, new AbortController().signal);
    }
  }

  /** The same for what is seen outside of the server. */
  async untilAsync(what: string, isTrue: () => Promise<boolean>): Promise<void> {
    const end = systemClock.now() + 20_000;
    while (!(await isTrue())) {
      if (systemClock.now() > end) throw new Error(`${what} did not happen; calls: ${this.calls.join(', ')}`);
      await systemClock.sleep(50);
    }
  }
  /** Lets real time pass where nothing is to be seen. */
  pause = (ms: number): Promise<void> => systemClock.sleep(ms);

  #turn(): void {
    this.#turns.update((turn) => turn + 1);
  }
  #isOut(name: string): boolean {
    const left = this.outages.get(name) ?? 0;
    this.outages.set(name, left - 1);
    return left > 0;
  }
  #own({ jobId, attempt, runnerId }: { jobId: string; attempt: number; runnerId: string }): QueuedJob {
    const job = this.jobs.find((one) => one.spec.id === jobId);
    const isOwn = job?.attempt === attempt && job.runnerId === runnerId;
    if (!isOwn || (job.state !== 'in_progress' && job.state !== 'canceling')) throw leaseLost();
    return job;
  }
  /** The runner's token, or that of an attempt that is not over. */
  #isKnown(authorization: string | undefined): boolean {
    if (authorization === `Bearer ${this.token}`) return true;
    return this.jobs.some(
      (job) =>
        (job.state === 'in_progress' || job.state === 'canceling') && authorization === `Bearer ${attemptTokenOf(job)}`,
    );
  }
  #check(name: string, headers: Headers): void {
    if (!this.#isKnown(headers.get('authorization') ?? undefined))
      throw new ConnectError('token', Code.Unauthenticated);
    if (this.#isOut(name)) throw new ConnectError('away', Code.Unavailable);
  }

  #routes(router: ConnectRouter): void {
    router.service(AuthService, {
      authenticate: ({ entity, credentials }) => {
        if (entity !== 'key-id' || credentials?.payload !== 'key') throw new ConnectError('key', Code.Unauthenticated);
        this.calls.push('authenticate');
        return { accessToken: this.token };
      },
    });
    router.service(RunnerService, {
      leaseJob: async (request, { requestHeader, signal }) => {
        const { runnerId, kinds, runningJobIds } = request;
        this.#check('lease', requestHeader);
        this.offers.push(request);
        this.#turn();
        // Whoever asks for work runs nothing any more but what it names.
        for (const job of this.jobs) {
          if (job.runnerId !== runnerId || runningJobIds.includes(job.spec.id)) continue;
          if (job.state === 'in_progress') job.state = 'pending';
          if (job.state === 'canceling') job.state = 'canceled';
        }
        for (;;) {
          if (signal.aborted) return {};
          const job = this.jobs.find((one) => one.state === 'pending' && kinds.includes(one.spec.kind));
          if (job) {
            Object.assign(job, { state: 'in_progress', attempt: job.attempt + 1, runnerId, heard: new Set() });
            this.calls.push(`lease ${job.spec.id}#${job.attempt}`);
            const { spec, manifestSha256, attempt } = job;
            const sent = spec as unknown as JsonObject;
            const attemptToken = attemptTokenOf(job);
            const scriptCredentials = { apiKeyId: 'script-key-id', apiKey: 'script-key' };
            const sentJob = {
              id: spec.id,
              attempt,
              organizationId: spec.org_id,
              spec: sent,
              manifestSha256,
              attemptToken,
            };
            return { job: spec.kind === 'custom' ? { ...sentJob, scriptCredentials } : sentJob };
          }
          await changedOr(this.#turns, 25_000, systemClock, signal);
        }
      },
      reportJob: async (request, { requestHeader, signal }) => {
        this.#check('report', requestHeader);
        const job = this.#own(request);
        keep(job, request);
        this.#turn();
        const holdMs = Number(request.hold?.seconds ?? 0n) * 1000;
        const end = systemClock.now() + holdMs;
        while (job.state === 'in_progress' && systemClock.now() < end && !signal.aborted) {
          await changedOr(this.#turns, end - systemClock.now(), systemClock, signal);
        }
        this.#own(request);
        return { stop: job.state === 'canceling' };
      },
      completeJob: (request, { requestHeader }) => {
        this.#check('complete', requestHeader);
        const job = this.#own(request);
        const { refusal } = this;
        if (refusal)
          throw new ConnectError(
            refusal.message,
            httpStatusOf(refusal.code) === 413 ? Code.ResourceExhausted : Code.InvalidArgument,
          );
        if (job.state === 'canceling') throw leaseLost();
        job.files = request.files.map(({ path, sha256, sizeBytes }) => ({ path, sha256, size: Number(sizeBytes) }));
        job.evaluation = request.evaluation;
        return this.#end(job, 'completed', 'complete', { modelId: 'org/m' });
      },
      failJob: (request, { requestHeader }) => {
        this.#check('fail', requestHeader);
        const job = this.#own(request);
        const { cause, code, message } = request;
        job.failure = { cause, code, message };
        if (this.isRetrying && cause === 'infrastructure') {
          return this.#end(job, 'pending', `fail ${cause} ${code}`, { willRetry: true });
        }
        return this.#end(job, 'failed', `fail ${cause} ${code}`, {});
      },
      confirmStop: (request, { requestHeader }) => {
        this.#check('confirmStop', requestHeader);
        return this.#end(this.#own(request), 'canceled', 'confirmStop', {});
      },
    });
  }
  #end<T>(job: QueuedJob, state: QueuedJob['state'], call: string, answer: T): T {
    job.state = state;
    this.calls.push(`${call} ${job.spec.id}#${job.attempt}`);
    this.#turn();
    return answer;
  }
}

const attemptTokenOf = ({ spec, attempt }: QueuedJob): string => `attempt-token-${spec.id}-${attempt}`;

function keep(job: QueuedJob, { logs, metrics, progress, phase }: ReportJobRequest): void {
  // Other news under a number that was used are kept too, for the test to find.
  const isNew = ({ sequence, ...news }: { sequence: bigint; message?: string; values?: unknown }): boolean => {
    const size = job.heard.size;
    return job.heard.add(JSON.stringify([Number(sequence), news.message, news.values])).size > size;
  };
  const lines = logs.filter(isNew);
  job.logs.push(...lines.map(({ sequence, level, message }) => ({ sequence: Number(sequence), level, message })));
  job.metrics.push(...metrics.filter(isNew).flatMap(({ values }) => (values ? [values] : [])));
  job.progress.push(progress);
  job.phases.add(phase);
}
