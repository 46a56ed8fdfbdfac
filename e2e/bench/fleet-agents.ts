// Many concurrent agents, each with the requests of a real one: successive long polls, and retries with backoff after a
// failure.
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import {
  AgentDeviceService,
  DeviceAgentConfigRequestSchema,
  DeviceAgentConfigResponseSchema,
} from '@platform/contract/gen/platform/app/agent/v1/agent_pb';
import {
  AuthenticateRequestSchema,
  AuthenticateResponseSchema,
  AuthService,
} from '@platform/contract/gen/proto/rpc/v1/auth_pb';
import { NeedsRestartRequestSchema, RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import { longestHoldMs } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import type { FleetMember } from '../src/fleet-lab.ts';
import { callBytes, WireLink } from '../src/wire-link.ts';

const configMethod = `${AgentDeviceService.typeName}/${AgentDeviceService.method.deviceAgentConfig.name}`;
const restartMethod = `${RobotService.typeName}/${RobotService.method.needsRestart.name}`;
const authenticateMethod = `${AuthService.typeName}/${AuthService.method.authenticate.name}`;
const shortestPauseMs = 200;

/** Fetches an access token for a machine. */
export async function tokenOf(url: string, link: WireLink, { partId, secret }: FleetMember): Promise<string> {
  const asked = create(AuthenticateRequestSchema, {
    entity: partId,
    credentials: { type: 'robot-secret', payload: secret },
  });
  const answer = await link.ask(callBytes(url, authenticateMethod, toBinary(AuthenticateRequestSchema, asked)));
  if (answer.status !== 200) throw new Error(`Authenticate: ${answer.status} ${answer.body.toString()}`);
  return fromBinary(AuthenticateResponseSchema, answer.body).accessToken;
}

/** Counts since the last snapshot. */
export interface FleetCounts {
  answers: number;
  /** Whole configurations among the answers. */
  whole: number;
  /** By cause: a status, or the error of the connection. */
  failures: Map<string, number>;
  /** Milliseconds from a call that was not held to its answer. */
  waits: number[];
}

interface Agent {
  readonly member: FleetMember;
  readonly link: WireLink;
  /** For all calls except checks. */
  readonly other: WireLink;
  token: string;
  fingerprint: string;
  /** Answered since the last snapshot. */
  isServed: boolean;
}

export class Fleet {
  readonly #url: string;
  readonly #agents: Agent[];
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #countsFrom = 0;
  /** After a failure, each agent returns within this time, at a random moment. */
  comeBackWithinMs = 30_000;
  counts: FleetCounts = { answers: 0, whole: 0, failures: new Map(), waits: [] };

  constructor(url: string, members: readonly FleetMember[]) {
    this.#url = url;
    this.#agents = members.map((member) => ({
      member,
      link: new WireLink(url),
      other: new WireLink(url),
      token: '',
      fingerprint: '',
      isServed: false,
    }));
  }

  /** Signs all agents in and starts them, at most `atOnce` concurrently. */
  async start(atOnce = 200): Promise<void> {
    const waiting = [...this.#agents];
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let agent = waiting.pop(); agent; agent = waiting.pop())
          agent.token = await tokenOf(this.#url, agent.link, agent.member);
      }),
    );
    this.#running = Promise.all(this.#agents.map((agent) => this.#run(agent)));
  }
  async stop(): Promise<void> {
    this.#stop.abort();
    for (const { link } of this.#agents) link.close();
    this.closeOthers();
    await this.#running;
  }
  /** `count` agents request once whether a user wants a restart, over a separate connection. */
  async askForRestarts(count: number, atOnce = 200): Promise<void> {
    const waiting = this.#agents.slice(0, count);
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let agent = waiting.pop(); agent; agent = waiting.pop()) {
          const body = toBinary(
            NeedsRestartRequestSchema,
            create(NeedsRestartRequestSchema, { id: agent.member.partId }),
          );
          const { status } = await agent.other.ask(
            callBytes(this.#url, restartMethod, body, { authorization: `Bearer ${agent.token}` }),
          );
          if (status !== 200) throw new Error(`NeedsRestart: ${status}`);
        }
      }),
    );
  }
  closeOthers(): void {
    for (const { other } of this.#agents) other.close();
  }
  /** Resets the counts: earlier answers and failures of earlier requests no longer count. */
  forget(): void {
    this.#countsFrom = systemClock.now();
    for (const agent of this.#agents) agent.isServed = false;
    this.counts = { answers: 0, whole: 0, failures: new Map(), waits: [] };
  }
  get served(): number {
    return this.#agents.filter((agent) => agent.isServed).length;
  }

  async #run(agent: Agent): Promise<void> {
    const { signal } = this.#stop;
    let waitMs = 0;
    while (!signal.aborted) {
      const from = systemClock.now();
      try {
        const { status, body } = await agent.link.ask(this.#call(agent, waitMs));
        if (status !== 200) throw new Error(`status ${status} ${body.toString('latin1').slice(0, 60)}`);
        const answer = fromBinary(DeviceAgentConfigResponseSchema, body);
        if (waitMs === 0) this.counts.waits.push(systemClock.now() - from);
        this.counts.answers++;
        if (!answer.notModified) this.counts.whole++;
        agent.fingerprint = answer.fingerprint;
        agent.isServed = true;
        waitMs = longestHoldMs;
      } catch (error) {
        if (signal.aborted) return;
        const what = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
        if (from >= this.#countsFrom) this.counts.failures.set(what, (this.counts.failures.get(what) ?? 0) + 1);
        waitMs = 0;
        await systemClock.sleep(Math.max(shortestPauseMs, Math.random() * this.comeBackWithinMs), signal);
      }
    }
  }
  #call({ member, token, fingerprint }: Agent, waitMs: number): Buffer {
    const asked = create(DeviceAgentConfigRequestSchema, {
      id: member.partId,
      hostInfo: { platform: 'linux/amd64', distro: 'debian:12', tags: ['platform-agent'] },
      versionInfo: { agentRunning: '1.0.0', agentInstalled: '1.0.0', serverRunning: '1.0.0', serverInstalled: '1.0.0' },
      agentUptime: durationFromMs(60_000),
      knownFingerprint: fingerprint,
      wait: durationFromMs(waitMs),
    });
    const body = toBinary(DeviceAgentConfigRequestSchema, asked);
    return callBytes(this.#url, configMethod, body, { authorization: `Bearer ${token}` });
  }
}
