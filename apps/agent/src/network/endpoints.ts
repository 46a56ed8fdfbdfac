import { errorText, type Cell, type Clock, type Log } from '@platform/kit';
import type { Processes, Programs } from '../os/ports.ts';
import { boundedLines } from './bounded-lines.ts';
import { endProcessesOf, findConfinement, type Confinement } from './confinement.ts';
import { fromEndpointsLineBytes, parseFromEndpoints } from './endpoints-messages.ts';
import type { EndpointHandlers, ProvisioningEndpoints } from './endpoints-port.ts';
import { anonymousBytes, startEndpointProcess, type EndpointProcess } from './endpoints-process.ts';
import { bindSocket, type HeldSocket } from './endpoints-sockets.ts';
import type { FromEndpoints, ProvisioningView, ToEndpoints } from './provisioning-view.ts';
import { rateLimit } from './rate-limit.ts';

export interface EndpointParts {
  /** This program with its command `endpoints`. */
  command: readonly string[];
  /** The whole environment of the process. */
  env: Readonly<Record<string, string>>;
  processes: Pick<Processes, 'listener'>;
  programs: Programs;
  /** A process that has more anonymous memory is ended. */
  memoryLimitBytes: number;
  clock: Clock;
  log: Log;
  /** Default: those that phones and apps expect. */
  ports?: { portal: number; rpc: number };
}

type Served = Parameters<ProvisioningEndpoints['serve']>[0];

const standardPorts = { portal: 80, rpc: 4772 };
const checkMs = 5_000;
const silentMs = 40_000;
const stopMs = 1_000;
const pause = { firstMs: 500, longestMs: 60_000, settledMs: 60_000 };
/** Starts in a row that never became ready, after which the part fails. */
const hopelessStarts = 4;
/** Messages in a burst, and each second after it. */
const rate = { burst: 100, perSecond: 10 };

/**
 * The endpoints as a child process without root: it parses untrusted input. This process opens the ports, hands the
 * sockets over, and checks each message.
 */
export function childEndpoints(parts: EndpointParts): ProvisioningEndpoints {
  return {
    async serve(of, signal) {
      const confinement = await findConfinement(parts.programs, parts.log);
      const { clock, log } = parts;
      let hasOpened = false;
      const opened = (): void => {
        if (!hasOpened) of.opened();
        hasOpened = true;
      };
      for (let failures = 0, starts = 0; !signal.aborted;) {
        const from = clock.now();
        const { reason, wasReady } = await serveOnce({ ...of, opened }, parts, confinement, signal);
        if (signal.aborted) return;
        starts = wasReady ? 0 : starts + 1;
        if (starts >= hopelessStarts) throw new Error(`The process of the portal cannot be started: ${reason}`);
        failures = clock.now() - from > pause.settledMs ? 0 : failures + 1;
        const pauseMs = Math.min(pause.firstMs * 2 ** failures, pause.longestMs);
        log.warn('the process of the portal ended and is started again', { reason, pauseMs });
        await clock.sleep(pauseMs, signal);
      }
    },
  };
}

interface Ended {
  reason: string;
  wasReady: boolean;
}

/** Until the process ends. @throws Error if a port cannot be opened */
async function serveOnce(
  of: Served,
  parts: EndpointParts,
  confinement: Confinement,
  signal: AbortSignal,
): Promise<Ended> {
  const child = await startWithSockets(of.address, parts, confinement);
  const over = new AbortController();
  const stop = (): void => void child.stop(parts.clock, stopMs);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const state: Conversation = { child, heard: parts.clock.now(), isReady: false, fault: '' };
  try {
    void sendViews(of.view, state, over.signal);
    void watch(state, parts, over.signal);
    void listen(state, of, parts);
    const how = await child.ended;
    child.kill(); // the rest of its group
    await endProcessesOf(confinement);
    return { reason: state.fault === '' ? how : state.fault, wasReady: state.isReady };
  } finally {
    signal.removeEventListener('abort', stop);
    over.abort();
  }
}

async function startWithSockets(
  address: string,
  parts: EndpointParts,
  confinement: Confinement,
): Promise<EndpointProcess> {
  const { command, env, processes, ports = standardPorts } = parts;
  const sockets: HeldSocket[] = [];
  try {
    for (const port of [ports.portal, ports.rpc]) sockets.push(await bindSocket(address, port, processes));
    const [portal, rpc] = sockets.map(({ descriptor }) => descriptor) as [number, number];
    const args = ['--address', address, '--port', String(ports.portal)];
    return await startEndpointProcess({ command: [...command, ...args], env, sockets: { portal, rpc }, confinement });
  } finally {
    for (const socket of sockets) socket.close(); // the child has its own; the ports close with it
  }
}

/** One process and what is known of it. */
interface Conversation {
  child: EndpointProcess;
  /** When the last message came. */
  heard: number;
  isReady: boolean;
  /** Why this process was ended from here; empty: it was not. */
  fault: string;
}

function endFor(state: Conversation, fault: string): void {
  if (state.fault === '') state.fault = fault;
  state.child.kill();
}

async function sendViews(view: Cell<ProvisioningView>, state: Conversation, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    send(state, { is: 'view', view: view.get() });
    await view.changed(signal);
  }
}

function send(state: Conversation, message: ToEndpoints): void {
  if (!state.child.send(JSON.stringify(message))) endFor(state, 'it does not read what it is sent');
}

async function watch(
  state: Conversation,
  { clock, memoryLimitBytes }: EndpointParts,
  signal: AbortSignal,
): Promise<void> {
  for (;;) {
    await clock.sleep(checkMs, signal);
    if (signal.aborted) return;
    if (clock.now() - state.heard > silentMs) endFor(state, 'it does not answer');
    const bytes = await anonymousBytes(state.child.pid);
    if ((bytes ?? 0) > memoryLimitBytes)
      endFor(state, `it has ${bytes} bytes of memory; the limit is ${memoryLimitBytes}`);
  }
}

async function listen(state: Conversation, { handlers, opened }: Served, parts: EndpointParts): Promise<void> {
  const allows = rateLimit(parts.clock, rate);
  const submissions = oneAtATime(handlers, parts.log);
  try {
    for await (const line of boundedLines(state.child.stdout, fromEndpointsLineBytes)) {
      if (!allows()) throw new Error('it sends too many messages');
      const message = parseFromEndpoints(line);
      if (!message) throw new Error('it sent an invalid message');
      state.heard = parts.clock.now();
      if (message.is === 'ready') {
        state.isReady = true;
        opened();
      } else if (message.is === 'active') handlers.active();
      else if (message.is === 'log') parts.log[message.level]('the portal reports', { text: message.text });
      else if (message.is === 'submit') void submissions(message).then((answer) => send(state, answer));
    }
  } catch (error) {
    endFor(state, errorText(error));
  }
}

type Submit = Extract<FromEndpoints, { is: 'submit' }>;

/** Passes on one submission; refuses others until it is answered. */
function oneAtATime({ submit }: EndpointHandlers, log: Log): (message: Submit) => Promise<ToEndpoints> {
  let isBusy = false;
  return async ({ id, submission }) => {
    const refuse = (code: string, text: string): ToEndpoints => ({
      is: 'answer',
      id,
      answer: { ok: false, code, text },
    });
    if (isBusy) return refuse('BUSY', 'The device is still working on what was entered before. Try again in a minute.');
    isBusy = true;
    try {
      return { is: 'answer', id, answer: await submit(submission) };
    } catch (error) {
      log.warn('what a user entered cannot be processed', { error: errorText(error) });
      return refuse('FAILED', 'The device could not store what was entered. Try again.');
    } finally {
      isBusy = false;
    }
  };
}
