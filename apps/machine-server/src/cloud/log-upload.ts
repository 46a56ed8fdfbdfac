import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import type { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import type { Clock, LogLine } from '@platform/kit';
import { Cell, changedOr } from '@platform/kit';
import type { JsonObject } from '@bufbuild/protobuf';

export type NumberedLine = LogLine & { readonly sequence: number };

const batchSize = 100;
const pauseMs = 100;
const pauseAfterErrorMs = 5000;
const callTimeoutMs = 4000;

/** Lines that wait to be sent, the oldest first. What does not fit any more drops the oldest line and is counted. */
export class LogQueue {
  readonly #limit: number;
  readonly #lines: NumberedLine[] = [];
  /** Changes with every line. */
  readonly filled = new Cell(0);
  #dropped = 0;

  constructor(limit = 20_000) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#lines.length;
  }

  /** All lines lost since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  push(line: LogLine): void {
    const sequence = this.filled.get() + 1;
    this.#lines.push({ ...line, sequence });
    if (this.#lines.length > this.#limit) {
      this.#lines.shift();
      this.#dropped += 1;
    }
    this.filled.set(sequence);
  }

  first(count: number): readonly NumberedLine[] {
    return this.#lines.slice(0, count);
  }

  /** Forgets every line up to `sequence`: they have arrived. */
  done(sequence: number): void {
    const kept = this.#lines.findIndex((line) => line.sequence > sequence);
    this.#lines.splice(0, kept < 0 ? this.#lines.length : kept);
  }

  /** Forgets lines that will never be taken; they count as lost. */
  lose(sequence: number): void {
    const before = this.#lines.length;
    this.done(sequence);
    this.#dropped += before - this.#lines.length;
  }
}

interface Deps {
  readonly robot: Pick<Client<typeof RobotService>, 'log'>;
  readonly partId: string;
  readonly host: string;
  /** Names this run of the program: with it and the sequence the server tells a repeated line from a new one. */
  readonly bootId: string;
  readonly queue: LogQueue;
  readonly clock: Clock;
}

/** Sends lines in batches, in order, each once: a batch whose answer was lost is sent again with the same numbers. */
export async function uploadLogs(deps: Deps, signal: AbortSignal): Promise<void> {
  const { queue, clock } = deps;
  const told = { dropped: 0 };
  while (!signal.aborted) {
    if (queue.size === 0) await changedOr(queue.filled, Infinity, clock, signal);
    if (signal.aborted) break;
    const isSent = await sendBatch(deps, signal);
    if (isSent) tellDropped(queue, told, clock);
    await clock.sleep(isSent ? pauseMs : pauseAfterErrorMs, signal);
  }
}

/** The last chance before the program ends: everything that waits, until the first failure or `signal`. */
export async function flushLogs(deps: Deps, signal: AbortSignal): Promise<void> {
  while (deps.queue.size > 0 && !signal.aborted && (await sendBatch(deps, signal)));
}

async function sendBatch({ robot, partId, host, bootId, queue }: Deps, signal: AbortSignal): Promise<boolean> {
  const lines = queue.first(batchSize);
  const last = lines.at(-1)?.sequence ?? 0;
  try {
    const logs = lines.map((line) => logEntry(line, host, bootId));
    await robot.log({ id: partId, logs }, { signal, timeoutMs: callTimeoutMs });
    queue.done(last);
    return true;
  } catch (error) {
    // A batch that can never be taken must not hold back all that follow.
    if (ConnectError.from(error).code === Code.InvalidArgument) queue.lose(last);
    return false;
  }
}

function tellDropped(queue: LogQueue, told: { dropped: number }, clock: Clock): void {
  const lines = queue.dropped - told.dropped;
  if (lines === 0) return;
  told.dropped = queue.dropped;
  const message = 'log lines were dropped: the queue was full while the management server could not be reached';
  queue.push({ time: clock.wall(), level: 'warn', logger: 'platform-server.log', message, fields: { lines } });
}

/** Field values keep their JSON form; the wire wants one object for each. */
export function logEntry(line: NumberedLine, host: string, bootId: string): MessageInitShape<typeof LogEntrySchema> {
  return {
    host,
    level: line.level,
    time: timestampFromMs(line.time),
    loggerName: line.logger,
    message: line.message,
    fields: Object.entries(line.fields)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => ({ [key]: value }) as JsonObject),
    sequence: BigInt(line.sequence),
    bootId,
  };
}
