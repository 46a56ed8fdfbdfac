import { execFile } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readlink, stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { parseLogAnswer } from '@platform/contract/machine-server/log-socket';
import { Cell, errorText, type Clock, type Log } from '@platform/kit';
import { relayPlaces, watchHello, type PresencePipes, type RelayPlaces } from '../relay-places.ts';

/** The agent's side of the process that reads the machine server's output; see logs/relay/relay.ts. */
export interface OutputRelay {
  /** Called before a server is started. Undefined: there is no relay, and the server writes to its files directly. */
  open(): Promise<RelayEnds | undefined>;
  /**
   * Keeps the relay of a running server alive: restarts it if it exits before the server. Does nothing without a relay.
   */
  keep(pid: number, isAlive: () => boolean): void;
  /** Called after the server's exit: resolves when all its output is in its files, or after half a second. */
  settled(): Promise<void>;
}

/** The endpoints for a server's output; the agent holds the pipes open until `release`. */
export interface RelayEnds {
  stdout: string;
  stderr: string;
  /** For the server's structured log lines. */
  socket: string;
  outputs: { stdout: number; stderr: number };
  release(): void;
}

/** The agent's hold on a running relay. */
export interface RelayPresence {
  /** Resolves when the relay has ended, or after `close`. */
  closed: Promise<void>;
  close(): void;
}

const startMs = 10_000;
const lookMs = 50;
const settleMs = 500;
const answerMs = 2_000;
const firstPauseMs = 100;
const longestPauseMs = 30_000;
const run = promisify(execFile);

export interface OutputRelayParts {
  folder: () => Promise<string>;
  /** Starts a relay, which need not be ready when it resolves. */
  start: () => Promise<void>;
  /** Joins the pipes of the relay that has answered; undefined: it has none. */
  join: (pipes: PresencePipes) => RelayPresence | undefined;
  clock: Clock;
  log: Log;
}

export function outputRelay(parts: OutputRelayParts): OutputRelay {
  const { clock, log } = parts;
  /** The running relay; undefined: none is known. */
  const running = new Cell<RelayPresence | undefined>(undefined);

  return {
    async open() {
      const held: number[] = [];
      const release = (): void => {
        for (const file of held.splice(0)) closeSync(file);
      };
      try {
        const folder = await parts.folder();
        const places = relayPlaces(folder);
        const { stdout, stderr, socket } = places;
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await makePipes([stdout, stderr]);
        // Open for reading, too: the server never gets SIGPIPE, even if the relay dies.
        for (const pipe of [stdout, stderr]) held.push(openSync(pipe, 'r+'));
        // The previous relay may be about to exit: a new connection tests whether it still serves.
        running.get()?.close();
        running.set(undefined);
        await ensureRelay(parts, running, places);
        return { stdout, stderr, socket, outputs: { stdout: held[0] ?? -1, stderr: held[1] ?? -1 }, release };
      } catch (error) {
        release();
        log.warn('the machine server writes into its files itself', { error: errorText(error) });
        return undefined;
      }
    },
    keep: (pid, isAlive) => void keepRelay(parts, running, { pid, isAlive }),
    async settled() {
      const late = new AbortController();
      await Promise.race([running.get()?.closed, clock.sleep(settleMs, late.signal)]);
      late.abort();
    },
  };
}

async function keepRelay(
  parts: OutputRelayParts,
  running: Cell<RelayPresence | undefined>,
  { pid, isAlive }: { pid: number; isAlive: () => boolean },
): Promise<void> {
  const places = relayPlaces(await parts.folder());
  const outputs = await Promise.all([1, 2].map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
  if (!outputs.includes(places.stdout) && !outputs.includes(places.stderr)) return; // an agent without a relay started it
  for (let failures = 0; isAlive();) {
    try {
      await ensureRelay(parts, running, places);
      failures = 0;
      await running.get()?.closed;
    } catch (error) {
      parts.log.warn('the relay of the machine server cannot be started', { error: errorText(error) });
    }
    await parts.clock.sleep(Math.min(firstPauseMs * 2 ** failures++, longestPauseMs));
  }
}

/** @throws Error if no relay can be started */
async function ensureRelay(
  { start, join, clock }: OutputRelayParts,
  running: Cell<RelayPresence | undefined>,
  places: RelayPlaces,
): Promise<void> {
  const end = clock.now() + startMs;
  for (let attempts = 0; !(await isJoined({ join, clock }, running, places)); attempts++) {
    if (clock.now() > end) throw new Error('it does not answer');
    if (attempts % 40 === 0) {
      await makePipes(Object.values(places.presence)); // an agent of a version without them made none
      await start();
    }
    await clock.sleep(lookMs);
  }
}

/** Whether a relay runs, which is then in `running`. */
async function isJoined(
  { join, clock }: Pick<OutputRelayParts, 'join' | 'clock'>,
  running: Cell<RelayPresence | undefined>,
  places: RelayPlaces,
): Promise<boolean> {
  if (running.get()) return true;
  const socket = await greeted(places.socket, clock);
  if (!socket) return false;
  if (running.get()) {
    socket.destroy(); // another call was faster
    return true;
  }
  const joined = join(places.presence);
  if (joined) socket.destroy();
  const found = joined ?? connectionAsPresence(socket);
  running.set(found);
  void found.closed.then(() => running.update((now) => (now === found ? undefined : now)));
  return true;
}

async function makePipes(files: readonly string[]): Promise<void> {
  for (const file of files)
    if (!(await isPipe(file))) await run('mkfifo', ['-m', '600', file], { env: { PATH: process.env['PATH'] } });
}

const isPipe = (file: string): Promise<boolean> =>
  stat(file).then(
    (found) => found.isFIFO(),
    () => false,
  );

/** A connection on which the relay has answered; undefined: there is none. */
async function greeted(file: string, clock: Clock): Promise<Socket | undefined> {
  const socket = connect(file);
  const late = new AbortController();
  const answered = await Promise.race([
    answerOn(socket),
    clock.sleep(answerMs, late.signal).then(() => false), // a stopped process accepts connections, too
  ]);
  late.abort();
  if (!answered) socket.destroy();
  return answered ? socket : undefined;
}

/** For a relay of a version without presence pipes: the connection stays open. */
const connectionAsPresence = (socket: Socket): RelayPresence => ({
  closed: new Promise((resolve) => (socket.destroyed ? resolve() : socket.once('close', () => resolve()))),
  close: () => void socket.destroy(),
});

const answerOn = (socket: Socket): Promise<boolean> =>
  new Promise((resolve) => {
    socket.unref(); // does not keep the agent's process alive
    socket.setEncoding('utf8');
    socket.once('close', () => resolve(false));
    socket.on('error', () => resolve(false));
    socket.once('connect', () => socket.write(`${watchHello}\n`));
    socket.once('data', (text: string) => resolve(parseLogAnswer(text.split('\n')[0] ?? '') !== undefined));
  });
