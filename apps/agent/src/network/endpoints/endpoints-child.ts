import { errorText, type Cell, type Clock, type Log } from '@platform/kit';
import type { Programs } from '../../os/ports.ts';
import { boundedLines } from './bounded-lines.ts';
import { endProcessesOf, findConfinement, type Confinement } from './confinement.ts';
import { fromEndpointsLineBytes, parseFromEndpoints } from './endpoints-messages.ts';
import type { EndpointHandlers, FromEndpoints, ProvisioningView, ToEndpoints } from './provisioning-view.ts';
import { anonymousBytes, type EndpointProcess } from './endpoints-process.ts';
import { rateLimit } from './rate-limit.ts';

export interface ChildParts {
  /** This program with its command `endpoints`. */
  command: readonly string[];
  /** The whole environment of the process. */
  env: Readonly<Record<string, string>>;
  programs: Programs;
  /** A process that has more anonymous memory is ended. */
  memoryLimitBytes: number;
  clock: Clock;
  log: Log;
}

/** What the process serves, and how it is started. */
export interface ServedByChild {
  /** For users. */
  name: 'the portal' | 'Bluetooth';
  view: Cell<ProvisioningView>;
  handlers: EndpointHandlers;
  /** Each time that a process is ready. */
  opened: () => void;
  start: (confinement: Confinement) => Promise<EndpointProcess>;
  /** A process runs and gets what is sent, until it ends. */
  started?: (send: (message: ToEndpoints) => void) => void;
  /** Takes messages that only this kind of process sends. @returns whether the message was expected */
  received?: (message: FromEndpoints) => boolean;
}

const checkMs = 5_000;
const silentMs = 40_000;
const stopMs = 1_000;
const pause = { firstMs: 500, longestMs: 60_000, settledMs: 60_000 };
/** Starts in a row that never became ready, after which the task fails. */
const hopelessStarts = 4;
/** Messages in a burst, and each second after it. */
const rate = { burst: 100, perSecond: 10 };

/**
 * Serves in a child process without root until the signal, because it parses untrusted input. A process that dies is
 * started again.
 *
 * @throws Error if it cannot be started, or never becomes ready
 */
export async function serveInChild(of: ServedByChild, parts: ChildParts, signal: AbortSignal): Promise<void> {
  const { clock, log } = parts;
  const confinement = await findConfinement(parts.programs, log, of.name);
  for (let failures = 0, starts = 0; !signal.aborted;) {
    const from = clock.now();
    const { reason, wasReady } = await serveOnce(of, parts, confinement, signal);
    if (signal.aborted) return;
    starts = wasReady ? 0 : starts + 1;
    if (starts >= hopelessStarts) throw new Error(`The process of ${of.name} cannot be started: ${reason}`);
    failures = clock.now() - from > pause.settledMs ? 0 : failures + 1;
    const pauseMs = Math.min(pause.firstMs * 2 ** failures, pause.longestMs);
    log.warn(`the process of ${of.name} ended and is started again`, { reason, pauseMs });
    await clock.sleep(pauseMs, signal);
  }
}

interface Ended {
  reason: string;
  wasReady: boolean;
}

/** Until the process ends. @throws Error if a port cannot be opened */
async function serveOnce(
  of: ServedByChild,
  parts: ChildParts,
  confinement: Confinement,
  signal: AbortSignal,
): Promise<Ended> {
  const child = await of.start(confinement);
  const over = new AbortController();
  const stop = (): void => void child.stop(parts.clock, stopMs);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  const state: Conversation = { child, heard: parts.clock.now(), isReady: false, fault: '' };
  try {
    of.started?.((message) => send(state, message));
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

async function watch(state: Conversation, { clock, memoryLimitBytes }: ChildParts, signal: AbortSignal): Promise<void> {
  for (;;) {
    await clock.sleep(checkMs, signal);
    if (signal.aborted) return;
    if (clock.now() - state.heard > silentMs) endFor(state, 'it does not answer');
    const bytes = await anonymousBytes(state.child.pid);
    if ((bytes ?? 0) > memoryLimitBytes)
      endFor(state, `it has ${bytes} bytes of memory; the limit is ${memoryLimitBytes}`);
  }
}

async function listen(state: Conversation, of: ServedByChild, parts: ChildParts): Promise<void> {
  const { handlers, opened, received } = of;
  const allows = rateLimit(parts.clock, rate);
  const submissions = oneAtATime(handlers, parts.log);
  try {
    for await (const line of boundedLines(state.child.stdout, fromEndpointsLineBytes)) {
      const message = parseFromEndpoints(line);
      // The agent itself limits the requests that are answered.
      const isAnswer = message?.is === 'written' && received?.(message) === true;
      if (!isAnswer && !allows()) throw new Error('it sends too many messages');
      if (!message) throw new Error('it sent an invalid message');
      state.heard = parts.clock.now();
      if (isAnswer) continue;
      if (message.is === 'ready') {
        state.isReady = true;
        opened();
      } else if (message.is === 'active') handlers.active();
      else if (message.is === 'exit') handlers.exit();
      else if (message.is === 'log') parts.log[message.level](`${of.name} reports`, { text: message.text });
      else if (message.is === 'submit') void submissions(message).then((answer) => send(state, answer));
      else if (message.is !== 'alive' && received?.(message) !== true)
        throw new Error('it sent a message that is not its own');
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
