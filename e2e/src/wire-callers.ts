// Machines and runners without their programs: only their calls to the server.
import { createHash } from 'node:crypto';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import type { Transport } from '@connectrpc/connect';
import { createConnectTransport } from '@connectrpc/connect-web';
import { type AgentConfig, resolveAgentConfig } from '@platform/contract/config/agent-config';
import { agentOf } from '@platform/contract/config/device-structs';
import { AgentDeviceService } from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import {
  type AgentReport,
  AgentReportSchema,
  ConfigSlice,
  FleetService,
  type SampleBatchSchema,
  SliceState,
  SliceStatusSchema,
} from '@platform/contract/gen/platform/fleet/v1/fleet_pb';
import { RunnerService } from '@platform/contract/gen/platform/runner/v1/runner_pb';
import { lastWord } from '@platform/contract/machine-server/resources';
import { AuthService } from '@platform/contract/gen/proto/rpc/v1/auth_pb';

interface Identity {
  url: string;
  type: 'api-key' | 'robot-secret';
  entity: string;
  payload: string;
}

export async function signIn({
  url,
  type,
  entity,
  payload,
}: Identity): Promise<{ transport: Transport; token: string }> {
  const open = createClient(AuthService, createConnectTransport({ baseUrl: url }));
  const { accessToken: token } = await open.authenticate({ entity, credentials: { type, payload } });
  const transport = createConnectTransport({
    baseUrl: url,
    useBinaryFormat: true,
    interceptors: [
      (next) => (request) => {
        request.header.set('authorization', `Bearer ${token}`);
        return next(request);
      },
    ],
  });
  return { transport, token };
}

export interface WireLine {
  level: string;
  message: string;
  at: number;
  fields?: Record<string, number>[];
}

export interface WireMachine {
  /** The agent's config check, with a report. */
  check(
    report: MessageInitShape<typeof AgentReportSchema>,
    samples?: MessageInitShape<typeof SampleBatchSchema>,
  ): Promise<void>;
  /** A config check without a report, which keeps the machine online. */
  beat(): Promise<void>;
  /** The config check of another product's agent, which reports only its versions. */
  checkAsOther(agentRunning: string): Promise<void>;
  /**
   * The check of one run of an agent, 16 bytes, as old as `uptimeMs`.
   *
   * @returns the set-up code that is meant for this run; empty: none.
   */
  checkOf(run: Uint8Array, uptimeMs: number, hostname: string): Promise<string>;
  /** Reports the removal, as `platform-agent uninstall` does. */
  goodbye(): Promise<void>;
  /** One line per call, numbered as an agent does. */
  log(line: WireLine): Promise<void>;
  /** Stores the schemas of its machine server, and names them in a report; undefined: it has none. */
  reportSchemas(document: { models: readonly ReportedModel[] } | undefined): Promise<void>;
  /** Many lines, in calls of 500. */
  logAll(lines: readonly WireLine[]): Promise<void>;
  /** Takes the restart order, once. */
  mustRestart(): Promise<boolean>;
}

interface ReportedModel {
  kind: string;
  type: string;
  model: string;
}

const hostInfo = { platform: 'linux/amd64', tags: ['platform-agent'] };

type Report = MessageInitShape<typeof AgentReportSchema>;

/**
 * Adds what every agent reports: its slices, and the received content where a slice is in effect. A report with
 * applied_revision 0 and without slices has applied nothing.
 */
function withContent(given: Report, configSha256: Uint8Array): AgentReport {
  const report = create(AgentReportSchema, given);
  const state = report.appliedRevision > 0n ? SliceState.IN_EFFECT : SliceState.LAGGING;
  if (report.slices.length === 0)
    report.slices = allSlices.map((slice) =>
      create(SliceStatusSchema, { slice, state, reason: 'the machine is applying it' }),
    );
  for (const slice of report.slices)
    if (slice.state === SliceState.IN_EFFECT) Object.assign(slice, { configSha256, reason: '' });
  return Object.assign(report, { knowsContent: true, receivedSha256: configSha256 });
}

const allSlices = [
  ConfigSlice.SETTINGS,
  ConfigSlice.VERSIONS,
  ConfigSlice.NETWORK,
  ConfigSlice.SYSTEM,
  ConfigSlice.SERVER,
];

function knowledgeWith(document: { models: readonly ReportedModel[] } | undefined) {
  const schemasJson = document === undefined ? '' : JSON.stringify(document);
  const models = (document?.models ?? []).map(({ kind, type, model }) => ({
    kind,
    type: lastWord(type),
    model: lastWord(model),
  }));
  const schemasSha256 = schemasJson === '' ? '' : createHash('sha256').update(schemasJson).digest('hex');
  return {
    stored: { schemasJson, sha256: schemasSha256 },
    serverKnowledge: { models, packageTypes: ['ml_model'], schemasSha256 },
  };
}

/** Signs in with the text of a credentials file. */
export async function wireMachine(credentialsJson: string): Promise<WireMachine> {
  const { cloud } = JSON.parse(credentialsJson) as { cloud: { app_address: string; id: string; secret: string } };
  const { transport } = await signIn({
    url: cloud.app_address,
    type: 'robot-secret',
    entity: cloud.id,
    payload: cloud.secret,
  });
  const agent = createClient(AgentDeviceService, transport);
  const robot = createClient(RobotService, transport);
  const fleet = createClient(FleetService, transport);
  const known = { fingerprint: '', configSha256: new Uint8Array() };
  /** Fetches the configuration, as an agent does before it reports. */
  const receive = async (): Promise<void> => {
    const { fingerprint } = known;
    const answer = await agent.deviceAgentConfig({ id: cloud.id, hostInfo, knownFingerprint: fingerprint });
    if (!answer.notModified) Object.assign(known, answer);
  };
  const logAll = numberedLog((logs) => robot.log({ id: cloud.id, logs }));
  return {
    async goodbye() {
      await agent.deviceAgentConfig({ id: cloud.id, uninstalled: true });
    },
    async checkOf(runId, uptimeMs, hostname) {
      const { setUpCode } = await agent.deviceAgentConfig({
        id: cloud.id,
        hostInfo: { platform: 'linux/amd64', tags: ['platform-agent'] },
        report: { hostname },
        runId,
        agentUptime: durationFromMs(Math.round(uptimeMs)),
      });
      return setUpCode;
    },
    beat: receive,
    async checkAsOther(agentRunning) {
      const other = { platform: 'linux/amd64', distro: 'debian:12', tags: [] };
      await agent.deviceAgentConfig({ id: cloud.id, hostInfo: other, versionInfo: { agentRunning } });
    },
    async check(report, samples) {
      await receive();
      await agent.deviceAgentConfig({
        id: cloud.id,
        hostInfo,
        knownFingerprint: known.fingerprint,
        report: withContent(report, known.configSha256),
        ...(samples && { samples }),
      });
    },
    async reportSchemas(document) {
      const { serverKnowledge, stored } = knowledgeWith(document);
      if (document !== undefined) await fleet.storeServerSchemas({ partId: cloud.id, ...stored });
      await agent.deviceAgentConfig({ id: cloud.id, hostInfo, report: { serverKnowledge } });
    },
    log: (line) => logAll([line]),
    logAll,
    async mustRestart() {
      return (await robot.needsRestart({ id: cloud.id })).mustRestart;
    },
  };
}

function numberedLog(send: (logs: ReturnType<typeof lineOf>[]) => Promise<unknown>) {
  let sequence = 0n;
  return async (lines: readonly WireLine[]): Promise<void> => {
    for (let from = 0; from < lines.length; from += 500)
      await send(lines.slice(from, from + 500).map((line) => lineOf(line, ++sequence)));
  };
}

/** The configuration that an agent with these credentials resolves: what the management server answers, and the defaults. */
export async function receivedConfig(credentialsJson: string): Promise<AgentConfig> {
  const { cloud } = JSON.parse(credentialsJson) as { cloud: { app_address: string; id: string; secret: string } };
  const { app_address: url, id: entity, secret: payload } = cloud;
  const { transport } = await signIn({ url, type: 'robot-secret', entity, payload });
  const answer = await createClient(AgentDeviceService, transport).deviceAgentConfig({ id: cloud.id, hostInfo });
  return resolveAgentConfig({ cloud: agentOf(answer) }).config;
}

const lineOf = ({ level, message, at, fields = [] }: WireLine, sequence: bigint) => ({
  host: 'test',
  level,
  loggerName: 'platform-agent',
  message,
  fields,
  time: timestampFromMs(at),
  sequence,
  bootId: 'boot',
});

export interface WireRunner {
  /** Leases the next job and reports training progress: one metric per accuracy. */
  train(progress: number, accuracies: readonly number[]): Promise<void>;
  /** Publishes files and evaluation of the leased job. */
  complete(files: Readonly<Record<string, string | Uint8Array>>, evaluation: object): Promise<void>;
}

export async function wireRunner(
  url: string,
  keyId: string,
  key: string,
  offer: {
    kinds?: string[];
    host?: string;
    noScriptsBecause?: string;
    containers?: { key: string; uri: string; framework: string; description: string }[];
  } = {},
): Promise<WireRunner> {
  const { transport, token } = await signIn({ url, type: 'api-key', entity: keyId, payload: key });
  const runner = createClient(RunnerService, transport);
  const runnerId = 'test';
  let job: { jobId: string; attempt: number; runnerId: string } | undefined;
  const leased = async () => {
    if (job) return job;
    const { job: granted } = await runner.leaseJob({
      runnerId,
      kinds: ['single_label_classification'],
      wait: durationFromMs(20_000),
      ...offer,
    });
    if (!granted) throw new Error('there was no job to lease');
    return (job = { jobId: granted.id, attempt: granted.attempt, runnerId });
  };
  const put = (content: string | Uint8Array) => putBlob(url, token, content);
  return {
    async train(progress, accuracies) {
      const metrics = accuracies.map((accuracy, epoch) => ({
        sequence: BigInt(epoch + 1),
        values: { stage: 'fine-tune', epoch, loss: 1 - accuracy, validation_accuracy: accuracy },
      }));
      const logs = [{ sequence: 1n, level: 'info', message: 'training began' }];
      await runner.reportJob({
        ...(await leased()),
        phase: 'training',
        progress,
        eta: durationFromMs(9000),
        metrics,
        logs,
      });
    },
    async complete(files, evaluation) {
      const named = await Promise.all(
        Object.entries(files).map(async ([path, content]) => ({ path, ...(await put(content)) })),
      );
      await runner.completeJob({
        ...(await leased()),
        files: named,
        evaluation: JSON.parse(JSON.stringify(evaluation)),
      });
      job = undefined;
    },
  };
}

async function putBlob(url: string, token: string, content: string | Uint8Array) {
  const bytes = Buffer.from(content);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const answer = await fetch(`${url}/blobs/${sha256}`, {
    method: 'PUT',
    body: bytes,
    headers: { authorization: `Bearer ${token}` },
  });
  if (!answer.ok) throw new Error(`PUT /blobs: ${answer.status} ${await answer.text()}`);
  return { sha256, sizeBytes: BigInt(bytes.length) };
}
