import { errorText, Inbox, run } from '@platform/kit';
import * as machine from '../state-machines/kept-agent.ts';
import { reportedLines } from '../state/exit-reason.ts';
import { gate, isDoubtfulStart, type GateOutcome } from '../versions/gate.ts';
import { programPath } from '../versions/layout.ts';
import { forgetKeptExit, writeKeptExit } from './exit-file.ts';
import { hasProgram, linkedId } from '../versions/switch.ts';
import type { Context } from '../health/context.ts';

/** A process of the agent. */
export interface AgentProcess {
  readonly pid: number;
  /** "exit 3", "signal SIGKILL". */
  readonly exited: Promise<string>;
  /** The last lines of its output, oldest first; undefined: the output is not read. */
  lines?(): readonly string[];
  askToStop(): void;
  /** Kills it, and its children where the system allows that. */
  kill(): void;
}

export interface SupervisionParts extends Pick<Context, 'files' | 'clock' | 'log'> {
  /** Starts the program at this path below the root; `notify` gets lines as in sd_notify(3). @throws Error */
  start(program: string, notify: (line: string) => void): Promise<AgentProcess>;
  limits: machine.KeptLimits;
  /** Differs after each boot of the machine, or each start of the supervisor. */
  boot: string;
  /** Masks secrets in the agent's output; undefined: no masking. */
  mask?: () => Promise<(text: string) => string>;
  /** Called with each new state. */
  publish?: (state: machine.KeptState) => void;
}

/** What a supervisor knows of its agent. */
interface Supervision {
  parts: SupervisionParts;
  inbox: Inbox<machine.KeptEvent>;
  /** The running agent, or the last one. */
  agent: AgentProcess | undefined;
  /** Since the last watchdog message. */
  starts: number;
  state: machine.KeptState;
  /** Why the agent is being killed; empty: it is not. */
  killed: string;
}

/**
 * Supervises the agent where there is no systemd. It runs the gate before each start and restarts the agent when it
 * exits. It kills an agent that does not become ready or misses its watchdog. The gate rolls back a version that fails.
 *
 * Returns after `signal`, when the agent has exited.
 */
export async function superviseAgent(parts: SupervisionParts, signal: AbortSignal): Promise<void> {
  const { files, limits, clock, log } = parts;
  const inbox = new Inbox<machine.KeptEvent>();
  const state = machine.waitingAt(clock.now());
  const supervision: Supervision = { parts, inbox, agent: undefined, starts: 0, state, killed: '' };
  const end = new AbortController();
  await forgetKeptExit(files).catch(() => {}); // of an earlier supervisor
  const stop = () => inbox.push({ is: 'stop' });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  await run<machine.KeptState, machine.KeptEvent, machine.KeptEffect>(
    {
      initial: machine.waitingAt(clock.now()),
      deadline: (s) => machine.deadline(s, limits),
      step: (s, e, now) => machine.step(s, e, now, limits),
      perform: (effect) => perform(supervision, effect),
    },
    inbox,
    (next) => {
      if (next.at === 'stopping' && next.isKilled && supervision.killed === '')
        supervision.killed = killReason(supervision.state, limits);
      supervision.state = next;
      parts.publish?.(next);
      if (next.at === 'ended') end.abort();
    },
    { clock, log },
    end.signal,
  );
  signal.removeEventListener('abort', stop);
}

async function perform(supervision: Supervision, effect: machine.KeptEffect): Promise<machine.KeptEvent | void> {
  if (effect.do === 'start') return startAgent(supervision);
  if (effect.do === 'ask') supervision.agent?.askToStop();
  else supervision.agent?.kill();
}

/** Runs the gate, then starts the version in use. */
async function startAgent(supervision: Supervision): Promise<machine.KeptEvent | void> {
  const { parts } = supervision;
  const { files, log } = parts;
  try {
    const outcome = await passGate(parts, supervision.starts++);
    const id = await linkedId(files, 'agent');
    if (id === undefined || !(await hasProgram(files, 'agent', id)))
      throw new Error('no version of the agent is installed here');
    if (outcome !== 'normal') log.warn('the gate decided on the version on trial', { outcome, id });
    const started = await parts.start(programPath('agent', id), (line) => receiveState(supervision, line));
    supervision.agent = started;
    supervision.killed = '';
    log.info('the agent was started', { id, pid: started.pid });
    void followExit(supervision, id, started);
  } catch (error) {
    log.error('the agent could not be started', { error });
    return { is: 'notStarted', error: errorText(error) };
  }
}

const passGate = ({ files, boot, clock, log }: SupervisionParts, starts: number): Promise<GateOutcome> =>
  gate(files, 'agent', {
    nowSeconds: Math.round(clock.wall() / 1000),
    boot,
    isDoubtful: isDoubtfulStart(starts),
  }).catch((error: unknown) => {
    log.error('the gate failed: what is in use is started', { error }); // as with systemd
    return 'normal';
  });

function receiveState(supervision: Supervision, line: string): void {
  if (line === 'READY=1') supervision.inbox.push({ is: 'ready' });
  else if (line === 'WATCHDOG=1') {
    supervision.starts = 0;
    supervision.inbox.push({ is: 'alive' });
  }
}

/** Waits for the exit of an agent, and records an unrequested one for the next agent. */
async function followExit(supervision: Supervision, id: string, started: AgentProcess): Promise<void> {
  const { parts, inbox } = supervision;
  const { files, clock, log } = parts;
  const how = await started.exited;
  const { state, killed } = supervision;
  const isRequested = state.at === 'stopping' && killed === '';
  // A running agent exits with 0 when another version takes over.
  const isInOrder = how === 'exit 0' && state.at === 'running';
  log[isRequested || isInOrder ? 'info' : 'warn']('the agent has ended', { id, how });
  const reason =
    killed !== '' ? `${killed} (${how})` : how === 'exit 0' ? `it ended before it was ready (${how})` : how;
  const write = async (): Promise<void> => {
    if (isRequested || isInOrder) return forgetKeptExit(files);
    const mask = (await parts.mask?.()) ?? ((text: string) => text);
    const lines = reportedLines(started.lines?.() ?? [], mask);
    await writeKeptExit(files, { id, reason, lines, atWall: Math.round(clock.wall()) });
  };
  await write().catch((error: unknown) => log.warn('how the agent ended was not written', { error }));
  inbox.push({ is: 'exited' });
}

function killReason(before: machine.KeptState, limits: machine.KeptLimits): string {
  const seconds = (ms: number): string => `${Math.round(ms / 1000)} seconds`;
  if (before.at === 'starting') return `not ready within ${seconds(limits.ready)}; its supervisor ended it`;
  if (before.at === 'running')
    return `it hung: its supervisor ended it because it showed no sign of life for ${seconds(limits.watchdog)}`;
  return '';
}
