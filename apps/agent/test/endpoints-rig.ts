import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { Cell, type Clock } from '@platform/kit';
import { systemClock } from '@platform/kit/node';
import { captureLog } from '@platform/kit/testing';
import { runtimeEnvironment } from '../src/install/unit.ts';
import type {
  EndpointHandlers,
  ProvisioningView,
  Submission,
  SubmissionAnswer,
} from '../src/network/endpoints/provisioning-view.ts';
import { childEndpoints, type EndpointParts } from '../src/network/hotspot/hotspot-endpoints.ts';
import { listenerOf } from '../src/os/linux/kernel/process-table.ts';
import { posixPrograms } from '../src/os/posix/programs.ts';

export const sampleView: ProvisioningView = {
  manufacturer: 'Acme',
  model: 'Rover 2',
  fragmentId: '5f3a9c1e-0b7d-4a52-9a3e-2f6c1d8e7b40',
  hostname: 'barn-01',
  agentVersion: '1.2.3',
  hasCredentials: true,
  isOnline: false,
  at: 'waiting',
  networks: [
    { ssid: 'Farm House', security: 'wpa-psk', signalPercent: 82 },
    { ssid: 'Barn Guests', security: 'open', signalPercent: 55 },
    { ssid: 'Stable 5G', security: 'sae', signalPercent: 38 },
    { ssid: 'Office', security: 'wpa-eap', signalPercent: 20 },
  ],
  connectedTo: '',
  lastAttempt: null,
};

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

export interface RunningEndpoints extends AsyncDisposable {
  url: string;
  ports: { portal: number; rpc: number };
  view: Cell<ProvisioningView>;
  submissions: Submission[];
  /** How often a user was active. */
  readonly activity: number;
  readonly exits: number;
  answer: Cell<SubmissionAnswer>;
  /** The process that serves now. */
  pid(): Promise<number>;
  log: ReturnType<typeof captureLog>;
  served: Promise<void>;
}

/** The endpoints as a real child process of this test, on loopback. */
export async function startEndpoints(
  command: readonly string[],
  more: Partial<Pick<EndpointParts, 'memoryLimitBytes' | 'env'>> & { clock?: Clock; view?: ProvisioningView } = {},
): Promise<RunningEndpoints> {
  const clock = more.clock ?? systemClock;
  const ports = { portal: await freePort(), rpc: await freePort() };
  const log = captureLog(clock);
  const stop = new AbortController();
  const view = new Cell(more.view ?? sampleView);
  const answer = new Cell<SubmissionAnswer>({ ok: true });
  const submissions: Submission[] = [];
  let activity = 0;
  let exits = 0;
  const handlers: EndpointHandlers = {
    active: () => void activity++,
    exit: () => void exits++,
    submit: async (submission) => {
      submissions.push(submission);
      return answer.get();
    },
  };
  const endpoints = childEndpoints({
    command,
    env: runtimeEnvironment,
    processes: { listener: listenerOf },
    programs: posixPrograms(10_000),
    memoryLimitBytes: 256 * 1024 * 1024,
    clock,
    log: log.log,
    ports,
    ...more,
  });
  const opened = Promise.withResolvers<void>();
  const address = '127.0.0.1';
  const served = endpoints.serve({ address, view, handlers, opened: opened.resolve }, stop.signal);
  await Promise.race([opened.promise, served.then(() => Promise.reject(new Error('it ended')))]);
  return {
    url: `http://${address}:${ports.portal}`,
    ports,
    view,
    submissions,
    get activity() {
      return activity;
    },
    get exits() {
      return exits;
    },
    answer,
    pid: async () => (await listenerOf(ports.portal))?.pid ?? 0,
    log,
    served,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await served;
    },
  };
}
