import { chmod, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { boundedCaller, boundedFields, cutText, logLimits } from '@platform/contract/logs/limits';
import {
  logSocketVersion,
  longestSocketLine,
  parseLogHello,
  parseSocketLine,
  type LogAnswer,
  type SocketLine,
} from '@platform/contract/machine-server/log-socket';
import { Cell, type Clock } from '@platform/kit';
import { watchHello } from '../../os/relay-places.ts';
import { Budget } from './budget.ts';
import type { DropMarks } from './output-stream.ts';
import type { RollingFile } from './rolling-file.ts';

export interface LineSocketParts {
  socketFile: string;
  file: RollingFile;
  marks: DropMarks;
  /** By boot ID, the last sequence that was accepted; initially from the previous relay. */
  taken: Map<string, number>;
  /** Called when an agent connects: a pipe whose writers have gone may get new ones. */
  watched: () => void;
  /** Number of connected agents. */
  watchers: Cell<number>;
  clock: Clock;
}

const mostConnections = 16;
/** Limit for boot IDs whose sequence is remembered. */
const mostStarts = 8;

/** Receives lines of the machine server over a Unix socket and writes each to the file once. */
export class LineSocket {
  readonly #parts: LineSocketParts;
  readonly #budget: Budget;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Number of connections that send lines. */
  readonly senders = new Cell(0);

  constructor(parts: LineSocketParts) {
    this.#parts = parts;
    this.#budget = new Budget(parts.clock.now());
    this.#server = createServer((socket) => {
      socket.on('error', () => {});
      if (this.#sockets.size >= mostConnections) return void socket.destroy();
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      this.#converse(socket);
    });
  }

  /** Returns false if another relay serves the socket. @throws Error if the socket cannot be created */
  async listen(): Promise<boolean> {
    const { socketFile } = this.#parts;
    if (await isAnswered(socketFile)) return false;
    await rm(socketFile, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(socketFile, resolve);
    });
    await chmod(socketFile, 0o600);
    return true;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #converse(socket: Socket): void {
    let rest = '';
    let bootId: string | undefined;
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      if (rest.length > longestSocketLine) return refuse(socket, 0, 'the line is too long');
      for (const line of lines) {
        if (socket.destroyed) return;
        if (bootId === undefined) bootId = this.#greet(socket, line);
        else this.#take(socket, bootId, line);
      }
    });
  }

  /** Answers the first line. Returns the boot ID of a server; undefined: an agent, or an unknown client. */
  #greet(socket: Socket, line: string): string | undefined {
    if (line === watchHello) {
      this.#parts.watched();
      count(socket, this.#parts.watchers);
      answer(socket, { log_socket: logSocketVersion, taken: 0 });
      return undefined;
    }
    const hello = parseLogHello(line);
    if (!hello) {
      refuse(socket, 0, `this agent knows version ${logSocketVersion} of the log socket`);
      return undefined;
    }
    count(socket, this.senders);
    answer(socket, { log_socket: logSocketVersion, taken: this.#parts.taken.get(hello.boot_id) ?? 0 });
    return hello.boot_id;
  }

  #take(socket: Socket, bootId: string, text: string): void {
    const { file, marks, taken, clock } = this.#parts;
    const line = parseSocketLine(text);
    const last = taken.get(bootId) ?? 0;
    if (!line) return refuse(socket, last, 'not a log line');
    if (line.sequence <= last) return;
    taken.delete(bootId);
    taken.set(bootId, line.sequence); // keeps the newest boot ID last
    for (const old of taken.keys()) if (taken.size > mostStarts) taken.delete(old);
    const bytes = Buffer.from(storedText(line, bootId));
    if (!this.#budget.takeLine(bytes.length, clock.now())) {
      marks.add(1, 'too many at once');
      return answer(socket, { log_socket: logSocketVersion, taken: line.sequence });
    }
    // Acknowledged even if the disk lost the line, which is counted: sent again, it would be out of order.
    file.write(bytes, 1, () => answer(socket, { log_socket: logSocketVersion, taken: line.sequence }));
  }
}

/** Counts the connection while it is open. */
function count(socket: Socket, connections: Cell<number>): void {
  connections.update((n) => n + 1);
  socket.once('close', () => connections.update((n) => n - 1));
}

function storedText({ sequence, fields, caller, ...line }: SocketLine, bootId: string): string {
  const [bounded] = boundedFields([fields ?? {}]);
  return `${JSON.stringify({
    ...line,
    logger: line.logger.slice(0, logLimits.nameCharacters).toWellFormed(),
    message: cutText(line.message),
    ...(fields && { fields: bounded }),
    ...(caller && { caller: boundedCaller(caller) }),
    ...(line.stack !== undefined && { stack: cutText(line.stack) }),
    boot_id: bootId,
    sequence,
  })}\n`;
}

/** The last sequences by boot ID in a file that an earlier relay wrote. */
export function takenIn(text: string, header: Readonly<Record<string, number>>): Map<string, number> {
  const taken = new Map(Object.entries(header));
  for (const line of text.split('\n')) {
    const found = /"boot_id":"([^"\\]+)","sequence":(\d+)\}$/.exec(line);
    if (found?.[1] !== undefined) taken.set(found[1], Math.max(taken.get(found[1]) ?? 0, Number(found[2])));
  }
  return taken;
}

const answer = (socket: Socket, of: LogAnswer): void =>
  void (socket.writable && socket.write(`${JSON.stringify(of)}\n`));

function refuse(socket: Socket, taken: number, error: string): void {
  answer(socket, { log_socket: logSocketVersion, taken, error });
  socket.end();
}

/** Whether a process listens on the socket. */
const isAnswered = (file: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(file);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
