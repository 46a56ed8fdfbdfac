import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, durationMs, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  Code,
  ConnectError,
  createRouterTransport,
  type ConnectRouter,
  type HandlerContext,
  type Transport,
} from '@connectrpc/connect';
import { connectNodeAdapter } from '@connectrpc/connect-node';
import { AgentDeviceService, type UpdateInfoSchema } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import {
  type AgentReport,
  type DeviceSample,
  type OrderKind,
  RestartRequest,
  type SampleBatch,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { Cell, type Clock } from '@platform/kit';

export interface StoredLine {
  host: string;
  level: string;
  logger: string;
  message: string;
  fields: Record<string, unknown>;
  /** ms since 1970. */
  timeMs: number;
  caller?: JsonObject;
  stack?: string;
}

export interface StoredSample {
  sample: DeviceSample;
  /** ms since 1970. */
  timeMs: number;
}

/** A minimal cloud with the rules that an agent meets: tokens, fingerprints, long polls, lines stored once. */
export class TestCloud {
  readonly partId: string;
  secret = 'part-secret';
  readonly agentConfig = new Cell<JsonObject>({});
  /** The saved maintenance window; set it before the agent starts. */
  maintenanceWindow: JsonObject | undefined;
  readonly serverRelease = new Cell<MessageInitShape<typeof UpdateInfoSchema> | undefined>(undefined);
  readonly agentRelease = new Cell<MessageInitShape<typeof UpdateInfoSchema> | undefined>(undefined);
  /** Orders of operators that wait. */
  readonly orders = new Cell<readonly { id: string; kind: OrderKind }[]>([]);
  /** How often an operator cleared the quarantine. */
  readonly clearance = new Cell(0);
  readonly report = new Cell<AgentReport | undefined>(undefined);
  readonly lines = new Cell<readonly StoredLine[]>([]);
  /** Samples in the order in which they arrived, each stored once. */
  readonly samples: StoredSample[] = [];
  /** Number of checks with samples that are stored although their response is lost. */
  lostSamples = 0;
  readonly #sampleState = { spoolId: '', last: 0 };
  readonly #taken = new Set<string>();
  readonly #clock: Clock;
  #tokens = new Set<string>();
  #mustRestart = false;
  #askedAt = 0;
  readonly #restartsAsked = new Cell(0);
  /** Number of calls by name; sizes of the log batches. */
  readonly calls = new Map<string, number>();
  readonly batches: number[] = [];
  restartCheckMs = 1_000;
  /** Revision of the saved configuration; set it before the values that change with it. */
  revision = 1;
  /** Text of the saved configuration; empty: one of its own for each revision. */
  content = '';
  /** Whether configuration responses report a pending restart. */
  reportsRestarts = true;
  /** Number of restart checks that fail. */
  failingRestarts = 0;
  refusesLine: (message: string) => boolean = () => false;
  /** The cloud itself fails at such a line and stores nothing of its batch. */
  failsAtLine: (message: string) => boolean = () => false;
  /** Every call fails while false. */
  isUp = true;
  /** Number of batches that are stored although their response is lost. */
  lostAnswers = 0;

  constructor(clock: Clock, partId = 'aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee') {
    this.partId = partId;
    this.#clock = clock;
  }

  askForRestart(): void {
    this.#mustRestart = true;
    this.#askedAt = this.#clock.now();
    this.#restartsAsked.update((n) => n + 1);
  }

  forgetTokens(): void {
    this.#tokens = new Set();
  }

  readonly routes = (router: ConnectRouter): void => {
    const enter = (name: string, context?: HandlerContext): void => {
      this.calls.set(name, (this.calls.get(name) ?? 0) + 1);
      if (!this.isUp) throw new ConnectError('down', Code.Unavailable);
      if (!context) return;
      const token = context.requestHeader.get('authorization')?.replace('Bearer ', '') ?? '';
      if (!this.#tokens.has(token)) throw new ConnectError('sign in', Code.Unauthenticated);
    };
    router.service(AuthService, {
      authenticate: ({ entity, credentials }) => {
        enter('authenticate');
        if (entity !== this.partId || credentials?.type !== 'robot-secret' || credentials.payload !== this.secret) {
          throw new ConnectError('INVALID_CREDENTIALS: wrong', Code.Unauthenticated);
        }
        const accessToken = randomUUID();
        this.#tokens.add(accessToken);
        return { accessToken };
      },
    });
    router.service(AgentDeviceService, {
      deviceAgentConfig: async (request, context) => {
        enter(request.uninstalled ? 'goodbye' : request.report ? 'report' : 'poll', context);
        if (request.uninstalled) return {};
        if (request.report) this.report.set(request.report);
        if (request.samples) this.#storeSamples(request.samples);
        const waitMs = request.wait ? durationMs(request.wait) : 0;
        const isWaiting = () => this.reportsRestarts && this.#mustRestart;
        if (waitMs > 0 && request.knownFingerprint === this.#fingerprint() && !isWaiting()) {
          const turn = new AbortController();
          const over = AbortSignal.any([turn.signal, context.signal]);
          await Promise.race([
            this.agentConfig.changed(over),
            this.serverRelease.changed(over),
            this.agentRelease.changed(over),
            this.clearance.changed(over),
            this.orders.changed(over),
            this.#restartsAsked.changed(over), // wakes without a change
            this.#clock.sleep(waitMs, over),
          ]);
          turn.abort();
          if (!this.isUp) throw new ConnectError('went down', Code.Unavailable);
        }
        const fingerprint = this.#fingerprint();
        const checkInterval = durationFromMs(5_000);
        const pending = isWaiting() ? RestartRequest.WAITING : RestartRequest.NONE;
        const restart = this.reportsRestarts ? pending : RestartRequest.UNSPECIFIED;
        if (fingerprint === request.knownFingerprint) return { checkInterval, fingerprint, notModified: true, restart };
        const release = this.serverRelease.get();
        const agent = this.agentRelease.get();
        return {
          checkInterval,
          fingerprint,
          restart,
          revision: BigInt(this.revision),
          configSha256: this.configSha256,
          agent: this.agentConfig.get(),
          ...(this.maintenanceWindow && { maintenanceWindow: this.maintenanceWindow }),
          quarantineClearance: BigInt(this.clearance.get()),
          orders: [...this.orders.get()],
          ...(release && { serverUpdateInfo: { filename: 'platform-server', unsigned: true, ...release } }),
          ...(agent && { agentUpdateInfo: { filename: 'platform-agent', unsigned: true, ...agent } }),
        };
      },
    });
    router.service(RobotService, {
      needsRestart: (request, context) => {
        enter('needsRestart', context);
        if (this.failingRestarts-- > 0) throw new ConnectError('not now', Code.Internal);
        const mustRestart = this.#mustRestart;
        this.#mustRestart = false;
        const requestedAgo = durationFromMs(Math.round(this.#clock.now() - this.#askedAt));
        const restartCheckInterval = durationFromMs(this.restartCheckMs);
        return { id: request.id, mustRestart, restartCheckInterval, ...(mustRestart && { requestedAgo }) };
      },
      log: ({ logs }, context) => {
        enter('log', context);
        this.batches.push(logs.length);
        if (logs.some((l) => this.refusesLine(l.message))) throw new ConnectError('a bad line', Code.InvalidArgument);
        if (logs.some((l) => this.failsAtLine(l.message))) throw new ConnectError('INTERNAL: x', Code.Internal);
        const fresh = logs.filter(({ bootId, sequence }) => !this.#taken.has(`${bootId}/${sequence}`));
        for (const { bootId, sequence } of fresh) this.#taken.add(`${bootId}/${sequence}`);
        const stored = fresh.map(({ host, level, loggerName, message, fields, time, caller, stack }) => ({
          host,
          level,
          logger: loggerName,
          message,
          fields: Object.assign({}, ...fields) as Record<string, unknown>,
          timeMs: time ? timestampMs(time) : 0,
          ...(caller && { caller }),
          ...(stack !== '' && { stack }),
        }));
        this.lines.update((lines) => [...lines, ...stored]);
        if (this.lostAnswers > 0) {
          this.lostAnswers--;
          throw new ConnectError('the answer was lost', Code.Unavailable);
        }
        return {};
      },
    });
  };

  /** An in-process transport without a network. */
  transport(): Transport {
    return createRouterTransport(this.routes);
  }

  /** By the rule of the management server. */
  #storeSamples({ spoolId, firstSequence, start, samples }: SampleBatch): void {
    const state = this.#sampleState;
    const first = Number(firstSequence);
    const known = spoolId === state.spoolId ? Math.max(0, state.last - first + 1) : 0;
    for (const sample of samples.slice(known))
      this.samples.push({ sample, timeMs: (Number(start) + sample.seconds) * 1000 });
    Object.assign(state, {
      spoolId,
      last: Math.max(spoolId === state.spoolId ? state.last : 0, first + samples.length - 1),
    });
    this.calls.set('samples', (this.calls.get('samples') ?? 0) + 1);
    if (this.lostSamples-- > 0) throw new ConnectError('the answer was lost', Code.Unavailable);
  }

  get configSha256(): Buffer {
    return sha256Of(this.content || `revision ${this.revision}`);
  }

  #fingerprint(): string {
    const named = [this.serverRelease, this.agentRelease].map((cell) => {
      const { url, version, sha256 } = cell.get() ?? {};
      return [url, version, sha256 && Buffer.from(sha256).toString('hex')];
    });
    return JSON.stringify([this.content, this.agentConfig.get(), this.clearance.get(), this.orders.get(), named]);
  }
}

export const sha256Of = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest();

export interface ReleaseFile {
  bytes: Buffer;
  /** The first response stalls after this many bytes. */
  stallAfter?: number;
  etag?: string;
}

/** Serves RPC and releases on one real port. */
export async function listen(cloud: TestCloud) {
  const files = new Map<string, ReleaseFile>();
  const requests: { path: string; method: string; range: string | undefined; status: number }[] = [];
  const rpc = connectNodeAdapter({ routes: cloud.routes });
  const server = createServer((request, answer) => {
    const file = files.get(request.url ?? '');
    if (!file) return rpc(request, answer);
    requests.push({
      path: request.url ?? '',
      method: request.method ?? '',
      range: request.headers.range,
      status: send(file, request, answer),
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    publish(path: string, file: ReleaseFile): string {
      files.set(path, file);
      return `${url}${path}`;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(file: ReleaseFile, request: IncomingMessage, answer: ServerResponse): number {
  const etag = file.etag ?? `"${sha256Of(file.bytes).toString('hex')}"`;
  const from = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
  const isPart = from !== undefined && request.headers['if-range'] === etag;
  const bytes = isPart ? file.bytes.subarray(Number(from)) : file.bytes;
  const status = isPart ? 206 : 200;
  const range = { 'content-range': `bytes ${from}-${file.bytes.length - 1}/${file.bytes.length}` };
  answer.writeHead(status, { etag, 'content-length': bytes.length, ...(isPart && range) });
  if (request.method === 'HEAD') return (answer.end(), status);
  if (file.stallAfter === undefined) return (answer.end(bytes), status);
  const part = bytes.subarray(0, file.stallAfter);
  delete file.stallAfter;
  answer.write(part);
  return status;
}
