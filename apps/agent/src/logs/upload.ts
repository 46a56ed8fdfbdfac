import type { JsonObject, MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import type { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { changedOr, errorText, type Cell, type Clock, type Log } from '@platform/kit';
import type { Cloud } from '../link/cloud.ts';
import { backOff } from '../link/pause.ts';
import type { SpoolRecord } from './spool-record.ts';
import type { Spool } from './spool.ts';
import type { DeviceTime } from '../clock/device-time.ts';
import { clearTrouble, setTrouble, type Troubles } from '../health/troubles.ts';

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
  { troubles, clock, local }: { troubles: Troubles; clock: Clock; local: Log },
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
        clearTrouble(troubles, 'LOGS_NOT_STORED');
      }
      failures = 0;
    } catch (error) {
      pauseMs = Math.min(firstPauseMs * 2 ** failures++, longestPauseMs);
      const problem = errorText(error);
      if (failures === 1) local.warn('log lines cannot be stored', { error: problem });
      setTrouble(troubles, {
        code: 'LOGS_NOT_STORED',
        severity: 'error',
        message: `Log lines cannot be stored: ${problem}`,
        remedy:
          "Make room on the disk and make the agent's folder writable; it is tried again. Some lines may be lost.",
      });
    }
    await clock.sleep(pauseMs, signal);
    if (failures === 0 && spool.isIdle && spool.activity.get() === seen) await spool.activity.changed(signal);
  }
  await spool.flush().catch(() => {});
  spool.giveUp();
}

export interface SendParts {
  cloud: Cloud;
  host: string;
  time: DeviceTime;
  isReached: Cell<boolean>;
  clock: Clock;
  local: Log;
  random: () => number;
}

/** Sends stored lines to the server, oldest first. The server stores each once, even if it is sent again. */
export async function sendLines(spool: Spool, parts: SendParts, signal: AbortSignal): Promise<void> {
  const { cloud, host, time, isReached, clock, local, random } = parts;
  const batches = { most: batchLines, tries: 0 };
  /** Lines that were accepted out of order, in tests of whether the server accepts lines at all. */
  const ahead = new Set<string>();
  let failures = 0;
  let isSaved = true;
  let saved = clock.now();
  const save = async (): Promise<void> => {
    saved = clock.now();
    isSaved = true;
    await spool.saveState().catch(() => {});
  };
  /** The next lines, and the function that acknowledges them. */
  const next = async (most: number) => {
    // Unstored lines are older than everything stored since.
    const stored = spool.hasLoose ? [] : await spool.next(most, batchBytes);
    if (stored.length > 0) return { bootId: spool.bootId, records: stored, ack: (n: number) => spool.ack(n) };
    return { ...spool.nextLoose(most), ack: async (n: number) => spool.ackLoose(n) };
  };
  const send = async (records: readonly SpoolRecord[], bootId: string): Promise<void> => {
    const logs = records.map((r) => entryOf(time.corrected(r), host, bootId));
    if (logs.length > 0) await cloud.log({ id: cloud.partId, logs }, signal);
  };
  const nameOf = (bootId: string, { sequence }: SpoolRecord): string => `${bootId} ${sequence}`;
  /**
   * Tests whether the server accepts any line after the first. Each attempt tries another one, in case several always
   * fail.
   */
  const takesAnother = async (attempt: number): Promise<boolean> => {
    const { bootId, records } = await next(batchLines);
    const others = records.slice(1);
    const untried = others.filter((r) => !ahead.has(nameOf(bootId, r)));
    const choice = untried.length > 0 ? untried : others;
    const other = choice[attempt % choice.length];
    if (!other) return false;
    await send([other], bootId);
    ahead.add(nameOf(bootId, other));
    return true;
  };
  while (!signal.aborted) {
    const seen = spool.activity.get();
    const batch = await next(batches.most).catch((error: unknown) => {
      local.warn('stored log lines cannot be read', { error: errorText(error) });
      return undefined;
    });
    const [first, last] = [batch?.records[0], batch?.records.at(-1)];
    if (!batch || !first || !last) {
      if (spool.activity.get() !== seen) continue;
      await changedOr(spool.activity, isSaved ? Infinity : saveMs, clock, signal);
      if (!isSaved && spool.activity.get() === seen) await save();
      continue;
    }
    try {
      const { bootId, records } = batch;
      await send(
        records.filter((r) => !ahead.has(nameOf(bootId, r))),
        bootId,
      );
      failures = 0;
      batches.most = Math.min(batches.most * 2, batchLines);
      if (batches.most === batchLines) batches.tries = 0;
    } catch (error) {
      if (signal.aborted) return;
      const isRefusal = codeIn(error) === Code.InvalidArgument;
      const isHopeless = codeIn(error) === Code.Internal && ++batches.tries >= triesOfBatch;
      if ((isRefusal || isHopeless) && batch.records.length > 1) {
        batches.most = Math.ceil(batch.records.length / 2); // one of them fails: isolate it from the others
        if (isRefusal) continue;
      }
      // A server that rejects every line has a fault of its own and accepts them all after it recovers.
      const isAlone = batch.records.length === 1;
      const isGivenUp =
        isAlone && (isRefusal || (isHopeless && (await takesAnother(batches.tries).catch(() => false))));
      if (!isGivenUp) {
        local.debug('log lines were not taken', { error: errorText(error) });
        await backOff({ failures: ++failures, error, isReached, clock, random }, signal);
        continue;
      }
      local.error('the cloud refuses a log line; it is given up', { error: errorText(error), logger: first.logger });
      spool.lose('refused', 1, first.time, last.time);
    }
    await batch.ack(last.sequence);
    for (const record of batch.records) ahead.delete(nameOf(batch.bootId, record));
    isSaved = false;
    if (clock.now() - saved >= saveMs) await save();
  }
}

const codeIn = (error: unknown): Code | undefined => (error instanceof ConnectError ? error.code : undefined);

function entryOf(r: SpoolRecord, host: string, bootId: string): MessageInitShape<typeof LogEntrySchema> {
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
    bootId,
  };
}
