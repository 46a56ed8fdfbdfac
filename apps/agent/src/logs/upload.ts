import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import type { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { changedOr, errorText, type Clock, type Log } from '@platform/kit';
import type { Cloud } from '../link/cloud.ts';
import { backOff } from '../link/pause.ts';
import type { SpoolRecord } from './spool-record.ts';
import type { Spool } from './spool.ts';
import type { DeviceTime } from '../clock/device-time.ts';
import { clearCondition, setCondition, type ConditionSet } from '../health/condition-set.ts';
import type { Context } from '../health/context.ts';

const batchLines = 100;
/** Proxies reject requests of more than a megabyte. */
const batchBytes = 2 ** 19;
const spacingMs = 200;
const saveMs = 30_000;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
/** Attempts before a batch with an internal error is assumed to contain a line that always fails. */
const triesOfBatch = 3;

/** Writes waiting lines to disk, in batches. After `signal` it tries once more and releases all waiters. */
export async function storeLines(
  spool: Spool,
  { conditions, clock, local }: { conditions: ConditionSet; clock: Clock; local: Log },
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const seen = spool.activity.get();
    let pauseMs = spacingMs;
    try {
      await spool.flush();
      if (failures > 0) {
        await spool.saveState(true); // lines may have been sent without being stored: this tests the disk itself
        clearCondition(conditions, 'LOGS_NOT_STORED');
      }
      failures = 0;
    } catch (error) {
      pauseMs = Math.min(firstPauseMs * 2 ** failures++, longestPauseMs);
      const problem = errorText(error);
      if (failures === 1) local.warn('log lines cannot be stored', { error: problem });
      setCondition(conditions, 'LOGS_NOT_STORED', { problem });
    }
    await clock.sleep(pauseMs, signal);
    if (failures === 0 && spool.isIdle && spool.activity.get() === seen) await spool.activity.changed(signal);
  }
  await spool.flush().catch(() => {});
  spool.giveUp();
}

export interface SendParts extends Pick<Context, 'isReached' | 'clock' | 'random'> {
  cloud: Cloud;
  /** Read again for each batch: the machine may be renamed. */
  hostname: () => string;
  time: DeviceTime;
  local: Log;
}

interface Batch {
  readonly records: readonly SpoolRecord[];
  readonly acknowledge: (sequence: number) => Promise<void>;
}

/** What the sender keeps between attempts. */
interface SendState {
  /** Size limit of the next batch. */
  most: number;
  /** Attempts that ended with an internal error of the server. */
  tries: number;
  failures: number;
  /** Lines that were accepted out of order, in tests of whether the server accepts lines at all. */
  readonly ahead: Set<string>;
}

/** Sends stored lines to the server, oldest first. The server stores each once, even if it is sent again. */
export async function sendLines(spool: Spool, parts: SendParts, signal: AbortSignal): Promise<void> {
  const { isReached, clock, local, random } = parts;
  const state: SendState = { most: batchLines, tries: 0, failures: 0, ahead: new Set() };
  const cursor = cursorSaver(spool, clock);
  while (!signal.aborted) {
    const seen = spool.activity.get();
    const batch = await nextBatch(spool, state.most).catch((error: unknown) => {
      local.warn('stored log lines cannot be read', { error: errorText(error) });
      return undefined;
    });
    const [first, last] = [batch?.records[0], batch?.records.at(-1)];
    if (!batch || !first || !last) {
      if (spool.activity.get() !== seen) continue;
      await changedOr(spool.activity, cursor.isSaved() ? Infinity : saveMs, clock, signal);
      if (!cursor.isSaved() && spool.activity.get() === seen) await cursor.save();
      continue;
    }
    try {
      await sendBatch(batch, parts, state, signal);
    } catch (error) {
      if (signal.aborted) return;
      const next = await afterFailure({ error, batch, spool, parts, state }, signal);
      if (next === 'send a part') continue;
      if (next === 'wait') {
        local.debug('log lines were not taken', { error: errorText(error) });
        await backOff({ failures: ++state.failures, error, isReached, clock, random }, signal);
        continue;
      }
      local.error('the cloud refuses a log line; it is given up', { error: errorText(error), logger: first.logger });
      spool.lose('refused', 1, first.time, last.time);
    }
    await batch.acknowledge(last.sequence);
    for (const record of batch.records) state.ahead.delete(nameOf(record));
    await cursor.advanced();
  }
}

async function nextBatch(spool: Spool, most: number): Promise<Batch> {
  // Unstored lines are older than everything stored since.
  const records = spool.hasLoose ? [] : await spool.next(most, batchBytes);
  if (records.length > 0) return { records, acknowledge: (n) => spool.ack(n) };
  return { records: spool.nextLoose(most), acknowledge: async (n) => spool.ackLoose(n) };
}

async function sendBatch({ records }: Batch, parts: SendParts, state: SendState, signal: AbortSignal): Promise<void> {
  const unsent = records.filter((r) => !state.ahead.has(nameOf(r)));
  await sendRecords(unsent, parts, signal);
  state.failures = 0;
  state.most = Math.min(state.most * 2, batchLines);
  if (state.most === batchLines) state.tries = 0;
}

async function sendRecords(
  records: readonly SpoolRecord[],
  { cloud, hostname, time }: SendParts,
  signal: AbortSignal,
): Promise<void> {
  const host = hostname();
  const logs = records.map((r) => entryOf(time.corrected(r), host));
  if (logs.length > 0) await cloud.log({ id: cloud.partId, logs }, signal);
}

/** Decides what follows a failed batch. A line is given up only if the server accepts others. */
async function afterFailure(
  of: { error: unknown; batch: Batch; spool: Spool; parts: SendParts; state: SendState },
  signal: AbortSignal,
): Promise<'send a part' | 'wait' | 'give up'> {
  const { error, batch, spool, parts, state } = of;
  const isRefusal = codeIn(error) === Code.InvalidArgument;
  const isHopeless = codeIn(error) === Code.Internal && ++state.tries >= triesOfBatch;
  if (!isRefusal && !isHopeless) return 'wait';
  if (batch.records.length > 1) {
    state.most = Math.ceil(batch.records.length / 2); // one of them fails: isolate it from the others
    return isRefusal ? 'send a part' : 'wait';
  }
  if (isRefusal) return 'give up';
  // A server that rejects every line has a fault of its own and accepts them all after it recovers.
  const isOtherAccepted = await acceptsAnother(spool, parts, state, signal).catch(() => false);
  return isOtherAccepted ? 'give up' : 'wait';
}

/**
 * Tests whether the server accepts any line after the first. Each attempt tries another one, in case several always
 * fail.
 */
async function acceptsAnother(
  spool: Spool,
  parts: SendParts,
  { ahead, tries }: SendState,
  signal: AbortSignal,
): Promise<boolean> {
  const { records } = await nextBatch(spool, batchLines);
  const others = records.slice(1);
  const untried = others.filter((r) => !ahead.has(nameOf(r)));
  const choice = untried.length > 0 ? untried : others;
  const other = choice[tries % choice.length];
  if (!other) return false;
  await sendRecords([other], parts, signal);
  ahead.add(nameOf(other));
  return true;
}

/** Stores the position of the sender, at most every `saveMs` while it advances. A failure only repeats lines. */
function cursorSaver(spool: Spool, clock: Clock) {
  let isSaved = true;
  let savedAt = clock.now();
  const save = async (): Promise<void> => {
    savedAt = clock.now();
    isSaved = true;
    await spool.saveState().catch(() => {});
  };
  return {
    isSaved: () => isSaved,
    save,
    async advanced(): Promise<void> {
      isSaved = false;
      if (clock.now() - savedAt >= saveMs) await save();
    },
  };
}

const nameOf = ({ bootId, sequence }: SpoolRecord): string => `${bootId} ${sequence}`;

const codeIn = (error: unknown): Code | undefined => (error instanceof ConnectError ? error.code : undefined);

function entryOf(r: SpoolRecord, host: string): MessageInitShape<typeof LogEntrySchema> {
  return {
    host,
    level: r.level,
    time: timestampFromMs(r.time),
    loggerName: r.logger,
    message: r.message,
    fields: Object.entries(r.fields).map(([key, value]) => ({ [key]: (value ?? null) as string })),
    ...(r.caller && { caller: r.caller as JsonObject }),
    ...(r.stack !== undefined && { stack: r.stack }),
    sequence: BigInt(r.sequence),
    bootId: r.bootId,
  };
}
