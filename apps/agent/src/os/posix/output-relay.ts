import { execFile } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readlink, stat } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { parseLogAnswer } from '@platform/contract/log-socket';
import { errorText, type Clock, type Log } from '@platform/kit';
import { relayPlaces, watchHello } from '../relay-places.ts';

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

const startMs = 10_000;
const lookMs = 50;
const settleMs = 500;
const answerMs = 2_000;
const firstPauseMs = 100;
const longestPauseMs = 30_000;
const run = promisify(execFile);

/** @param start - starts a relay, which need not be ready when it resolves. */
export function outputRelay(of: {
  folder: () => Promise<string>;
  start: () => Promise<void>;
  clock: Clock;
  log: Log;
}): OutputRelay {
  const { start, clock, log } = of;
  /** The connection to the running relay. */
  const watched = { socket: undefined as Socket | undefined, closed: Promise.resolve() };

  const watch = async (socketFile: string): Promise<boolean> => {
    if (watched.socket && !watched.socket.destroyed) return true;
    const socket = await greeted(socketFile, clock);
    if (!socket) return false;
    watched.socket = socket;
    watched.closed = new Promise((resolve) => socket.once('close', () => resolve()));
    return true;
  };
  /** @throws Error if no relay can be started */
  const ensure = async (socketFile: string): Promise<void> => {
    const end = clock.now() + startMs;
    for (let looks = 0; !(await watch(socketFile)); looks++) {
      if (clock.now() > end) throw new Error('it does not answer');
      if (looks % 40 === 0) await start();
      await clock.sleep(lookMs);
    }
  };
  const keepAlive = async (pid: number, isAlive: () => boolean): Promise<void> => {
    const { socket, stdout, stderr } = relayPlaces(await of.folder());
    const outputs = await Promise.all([1, 2].map((fd) => readlink(`/proc/${pid}/fd/${fd}`).catch(() => '')));
    if (!outputs.includes(stdout) && !outputs.includes(stderr)) return; // an agent without a relay has started it
    for (let failures = 0; isAlive();) {
      try {
        await ensure(socket);
        failures = 0;
        await watched.closed;
      } catch (error) {
        log.warn('the relay of the machine server cannot be started', { error: errorText(error) });
      }
      await clock.sleep(Math.min(firstPauseMs * 2 ** failures++, longestPauseMs));
    }
  };

  return {
    async open() {
      const held: number[] = [];
      const release = (): void => {
        for (const file of held.splice(0)) closeSync(file);
      };
      try {
        const folder = await of.folder();
        const { stdout, stderr, socket } = relayPlaces(folder);
        await mkdir(folder, { recursive: true, mode: 0o700 });
        for (const pipe of [stdout, stderr]) {
          if (!(await isPipe(pipe))) await run('mkfifo', ['-m', '600', pipe], { env: { PATH: process.env['PATH'] } });
          // Open for reading, too: the server never gets SIGPIPE, even if the relay dies.
          held.push(openSync(pipe, 'r+'));
        }
        // The previous relay may be about to exit: a new connection tests whether it still serves.
        watched.socket?.destroy();
        await watched.closed;
        await ensure(socket);
        return { stdout, stderr, socket, outputs: { stdout: held[0] ?? -1, stderr: held[1] ?? -1 }, release };
      } catch (error) {
        release();
        log.warn('the machine server writes into its files itself', { error: errorText(error) });
        return undefined;
      }
    },
    keep: (pid, isAlive) => void keepAlive(pid, isAlive),
    async settled() {
      const late = new AbortController();
      await Promise.race([watched.closed, clock.sleep(settleMs, late.signal)]);
      late.abort();
    },
  };
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

const answerOn = (socket: Socket): Promise<boolean> =>
  new Promise((resolve) => {
    socket.unref(); // does not keep the agent's process alive
    socket.setEncoding('utf8');
    socket.once('close', () => resolve(false));
    socket.on('error', () => resolve(false));
    socket.once('connect', () => socket.write(`${watchHello}\n`));
    socket.once('data', (text: string) => resolve(parseLogAnswer(text.split('\n')[0] ?? '') !== undefined));
  });
