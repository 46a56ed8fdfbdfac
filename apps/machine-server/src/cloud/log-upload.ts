import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Client } from '@connectrpc/connect';
import { Code, ConnectError } from '@connectrpc/connect';
import type { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { boundedFields, cutText, logLimits } from '@platform/contract/logs/limits';
import type { Clock, LogLine } from '@platform/kit';
import { Cell, changedOr } from '@platform/kit';
import type { JsonObject } from '@bufbuild/protobuf';

export type NumberedLine = LogLine & { readonly sequence: number };

const batchSize = 100;
const pauseMs = 100;
const pauseAfterErrorMs = 5000;
const callTimeoutMs = 4000;
/** After this number of server failures, a batch is assumed to contain a line that the server can never store. */
const failuresOfBatch = 3;

/** Lines that wait to be sent, oldest first. A full queue drops its oldest line and counts it. */
export class LogQueue {
  readonly #limit: number;
  readonly #lines: NumberedLine[] = [];
  /** Changes with every line. */
  readonly filled = new Cell(0);
  /** Highest sequence number of the removed lines. */
  readonly emptied = new Cell(0);
  #dropped = 0;

  constructor(limit: number = logLimits.unsentLines) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#lines.length;
  }

  /** Number of lines lost since the start. */
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

  /** The first lines after a sequence number. */
  after(sequence: number, count: number): readonly NumberedLine[] {
    const from = sequence - (this.#lines[0]?.sequence ?? 0) + 1; // sequence numbers have no gaps
    return this.#lines.slice(Math.max(0, from), Math.max(0, from) + count);
  }

  /** Removes every line up to `sequence` after its delivery. */
  done(sequence: number): void {
    const kept = this.#lines.findIndex((line) => line.sequence > sequence);
    this.#lines.splice(0, kept < 0 ? this.#lines.length : kept);
    if (sequence > this.emptied.get()) this.emptied.set(sequence);
  }

  /** Removes lines that can never be delivered; they count as lost. */
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
  /** Identifies this run of the program: with it and the sequence number the server recognizes a repeated line. */
  readonly bootId: string;
  readonly queue: LogQueue;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
}

/** State that failed batches determine. */
interface Batches {
  most: number;
  /** Consecutive failures of the management server. */
  failures: number;
}

/** Sends lines in batches, in order and exactly once: a batch without a response is repeated with the same numbers. */
export async function uploadLogs(deps: Deps, signal: AbortSignal): Promise<void> {
  const { queue, clock, random } = deps;
  const logged = { dropped: 0 };
  const batches: Batches = { most: batchSize, failures: 0 };
  while (!signal.aborted) {
    if (queue.size === 0) await changedOr(queue.filled, Infinity, clock, signal);
    if (signal.aborted) break;
    const outcome = await sendBatch(deps, batches, signal);
    if (outcome === 'taken') logDropped(queue, logged, clock);
    // The jitter spreads machines that lost their server in the same second.
    await clock.sleep(outcome === 'not taken' ? pauseAfterErrorMs * (0.5 + random()) : pauseMs, signal);
  }
}

/** Sends all waiting lines before the program exits, until the first failure or `signal`. */
export async function flushLogs(deps: Deps, signal: AbortSignal): Promise<void> {
  const batches: Batches = { most: batchSize, failures: 0 };
  while (deps.queue.size > 0 && !signal.aborted && (await sendBatch(deps, batches, signal)) !== 'not taken');
}

/** `smaller`: the next batch is a different one. */
async function sendBatch(
  deps: Deps,
  batches: Batches,
  signal: AbortSignal,
): Promise<'taken' | 'smaller' | 'not taken'> {
  const { queue } = deps;
  const lines = queue.first(batches.most);
  const last = lines.at(-1)?.sequence ?? 0;
  try {
    await sendLines(deps, lines, signal);
    queue.done(last);
    batches.most = Math.min(batches.most * 2, batchSize);
    batches.failures = 0;
    return 'taken';
  } catch (error) {
    // Lines that the server can never store must not block all others.
    const { code } = ConnectError.from(error);
    const isRefused = code === Code.InvalidArgument;
    const isHopeless = code === Code.Internal && ++batches.failures >= failuresOfBatch;
    if (!isRefused && !isHopeless) return 'not taken';
    if (lines.length > 1) {
      batches.most = Math.ceil(lines.length / 2);
      return isRefused ? 'smaller' : 'not taken';
    }
    if (!isRefused && !(await takesAnother(deps, batches.failures, signal))) return 'not taken';
    queue.lose(last);
    return 'smaller';
  }
}

/** Whether the server stores another line: a server that fails at every line will store them after its recovery. */
async function takesAnother(deps: Deps, attempt: number, signal: AbortSignal): Promise<boolean> {
  const others = deps.queue.first(batchSize).slice(1);
  const other = others[attempt % Math.max(1, others.length)];
  if (!other) return false;
  return sendLines(deps, [other], signal).then(
    () => true, // its own batch repeats it with the same number
    () => false,
  );
}

async function sendLines(
  { robot, partId, host, bootId }: Deps,
  lines: readonly NumberedLine[],
  signal: AbortSignal,
): Promise<void> {
  const logs = lines.map((line) => logEntry(line, host, bootId));
  await robot.log({ id: partId, logs }, { signal, timeoutMs: callTimeoutMs });
}

export function logDropped(queue: LogQueue, logged: { dropped: number }, clock: Clock): void {
  const lines = queue.dropped - logged.dropped;
  if (lines === 0) return;
  logged.dropped = queue.dropped;
  const message = 'log lines were dropped: too many waited for the management server, or it refused them';
  queue.push({ time: clock.wall(), level: 'warn', logger: 'platform-server.log', message, fields: { lines } });
}

/** Field values keep their JSON form; the wire format needs one object per field. */
export function logEntry(line: NumberedLine, host: string, bootId: string): MessageInitShape<typeof LogEntrySchema> {
  return {
    host,
    level: line.level,
    time: timestampFromMs(line.time),
    loggerName: line.logger,
    message: cutText(line.message),
    fields: boundedFields(
      Object.entries(line.fields)
        .filter(([, value]) => value !== undefined)
        .map(([key, value]) => ({ [key]: value }) as JsonObject),
    ) as JsonObject[],
    sequence: BigInt(line.sequence),
    bootId,
  };
}
