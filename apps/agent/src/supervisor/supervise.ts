import { errorText, Inbox, run, type Clock, type Log } from '@platform/kit';
import * as machine from '../machines/kept-agent.ts';
import type { FileSystem } from '../os/ports.ts';
import { reportedLines } from '../state/exit-reason.ts';
import { gate, isDoubtfulStart } from '../versions/gate.ts';
import { programPath } from '../versions/layout.ts';
import { forgetKeptExit, writeKeptExit } from './exit-file.ts';
import { hasProgram, linkedId } from '../versions/switch.ts';

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

export interface SupervisionParts {
  files: FileSystem;
  /** Starts the program at this path below the root; `notify` gets lines as in sd_notify(3). @throws Error */
  start(program: string, notify: (line: string) => void): Promise<AgentProcess>;
  limits: machine.KeptLimits;
  /** Differs after each boot of the machine, or each start of the supervisor. */
  boot: string;
  clock: Clock;
  log: Log;
  /** Masks secrets in the agent's output; undefined: no masking. */
  mask?: () => Promise<(text: string) => string>;
  /** Called with each new state. */
  publish?: (state: machine.KeptState) => void;
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
  const end = new AbortController();
  let agent: AgentProcess | undefined;
  let starts = 0; // since the last watchdog message

  const notify = (line: string): void => {
    if (line === 'READY=1') inbox.push({ is: 'ready' });
    else if (line === 'WATCHDOG=1') {
      starts = 0;
      inbox.push({ is: 'alive' });
    }
  };
  let state = machine.waitingAt(clock.now());
  /** Why it is being killed; empty: it is not. */
  let killed = '';
  const untilExit = async (id: string, started: AgentProcess): Promise<void> => {
    const how = await started.exited;
    log.info('the agent has ended', { id, how });
    const isAsked = state.at === 'stopping' && killed === '';
    // A running agent exits with 0 when another version takes over.
    const isInOrder = how === 'exit 0' && state.at === 'running';
    const reason =
      killed !== '' ? `${killed} (${how})` : how === 'exit 0' ? `it ended before it was ready (${how})` : how;
    const write = async (): Promise<void> => {
      if (isAsked || isInOrder) return forgetKeptExit(files);
      const mask = (await parts.mask?.()) ?? ((text: string) => text);
      const lines = reportedLines(started.lines?.() ?? [], mask);
      await writeKeptExit(files, { id, reason, lines, atWall: Math.round(clock.wall()) });
    };
    await write().catch((error: unknown) => log.warn('how the agent ended was not written', { error }));
    inbox.push({ is: 'exited' });
  };
  const start = async (): Promise<machine.KeptEvent | void> => {
    try {
      const outcome = await gate(files, 'agent', {
        nowSeconds: Math.round(clock.wall() / 1000),
        boot: parts.boot,
        isDoubtful: isDoubtfulStart(starts++),
      }).catch((error: unknown) => {
        log.error('the gate failed: what is in use is started', { error }); // as with systemd
        return 'normal' as const;
      });
      const id = await linkedId(files, 'agent');
      if (id === undefined || !(await hasProgram(files, 'agent', id)))
        throw new Error('no version of the agent is installed here');
      if (outcome !== 'normal') log.warn('the version on trial was looked at', { outcome, id });
      const started = await parts.start(programPath('agent', id), notify);
      agent = started;
      killed = '';
      log.info('the agent was started', { id, pid: started.pid });
      void untilExit(id, started);
    } catch (error) {
      log.error('the agent could not be started', { error });
      return { is: 'notStarted', error: errorText(error) };
    }
  };
  const perform = async (effect: machine.KeptEffect): Promise<machine.KeptEvent | void> => {
    if (effect.do === 'start') return start();
    if (effect.do === 'ask') agent?.askToStop();
    else agent?.kill();
  };

  await forgetKeptExit(files).catch(() => {}); // of an earlier supervisor
  const stop = () => inbox.push({ is: 'stop' });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  await run<machine.KeptState, machine.KeptEvent, machine.KeptEffect>(
    {
      initial: machine.waitingAt(clock.now()),
      deadline: (s) => machine.deadline(s, limits),
      step: (s, e, now) => machine.step(s, e, now, limits),
      perform,
    },
    inbox,
    (next) => {
      if (next.at === 'stopping' && next.isKilled && killed === '') killed = killReason(state, limits);
      state = next;
      parts.publish?.(state);
      if (state.at === 'ended') end.abort();
    },
    { clock, log },
    end.signal,
  );
  signal.removeEventListener('abort', stop);
}

function killReason(before: machine.KeptState, limits: machine.KeptLimits): string {
  const seconds = (ms: number): string => `${Math.round(ms / 1000)} seconds`;
  if (before.at === 'starting') return `not ready within ${seconds(limits.ready)}; its supervisor ended it`;
  if (before.at === 'running')
    return `it hung: its supervisor ended it because it showed no sign of life for ${seconds(limits.watchdog)}`;
  return '';
}
