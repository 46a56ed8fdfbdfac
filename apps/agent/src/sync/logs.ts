import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import type { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import { errorText, type Clock, type Log } from '@platform/kit';
import type { Device } from '../os/ports.ts';
import type { Cloud } from './cloud.ts';
import type { SpoolRecord } from './spool-record.ts';
import type { Spool } from './spool.ts';

const batchLines = 100;
const spacingMs = 200;
const saveMs = 5_000;
const firstPauseMs = 1_000;
const longestPauseMs = 30_000;
const stderrLimitBytes = 16 * 2 ** 20;
const lookMs = 250;

/** Brings waiting lines to disk, those that came together in one write. Ends when all are stored after `signal`. */
export async function storeLines(
  spool: Spool,
  { clock, local }: { clock: Clock; local: Log },
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const seen = spool.activity.get();
    let pauseMs = spacingMs;
    try {
      await spool.flush();
      failures = 0;
    } catch (error) {
      pauseMs = Math.min(firstPauseMs * 2 ** failures++, longestPauseMs);
      local.warn('log lines cannot be stored', { error: errorText(error), pauseMs });
    }
    await clock.sleep(pauseMs, signal);
    if (spool.isIdle && spool.activity.get() === seen) await spool.activity.changed(signal);
  }
  await spool.flush().catch(() => {});
  spool.giveUp();
}

/** Sends stored lines to the cloud, oldest first, at most 100 a call; each is taken once, however often it is sent. */
export async function sendLines(
  spool: Spool,
  { cloud, host, clock, local }: { cloud: Cloud; host: string; clock: Clock; local: Log },
  signal: AbortSignal,
): Promise<void> {
  let failures = 0;
  let saved = clock.now();
  while (!signal.aborted) {
    const seen = spool.activity.get();
    const batch = await spool.next(batchLines);
    const last = batch.at(-1);
    if (!last) {
      await spool.saveState().catch(() => {});
      if (spool.activity.get() === seen) await spool.activity.changed(signal);
      continue;
    }
    try {
      await cloud.log({ id: cloud.partId, logs: batch.map((r) => entryOf(r, host, spool.bootId)) }, signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ConnectError && error.code === Code.InvalidArgument)) {
        local.debug('log lines were not taken', { error: errorText(error) });
        await clock.sleep(Math.min(firstPauseMs * 2 ** failures++, longestPauseMs), signal);
        continue;
      }
      local.error('the cloud refuses log lines; they are given up', { lines: batch.length, error });
    }
    await spool.ack(last.sequence);
    if (clock.now() - saved >= saveMs) {
      saved = clock.now();
      await spool.saveState().catch(() => {});
    }
  }
}

function entryOf(r: SpoolRecord, host: string, bootId: string): MessageInitShape<typeof LogEntrySchema> {
  return {
    host,
    level: r.level,
    time: timestampFromMs(r.time),
    loggerName: r.logger,
    message: r.message,
    fields: Object.entries(r.fields).map(([key, value]) => ({ [key]: (value ?? null) as string })),
    sequence: BigInt(r.sequence),
    bootId,
  };
}

/**
 * Puts each line of the server's stderr into the spool. How far it came is stored with the lines themselves, so that
 * no end of this agent loses or repeats one.
 */
export async function followStderr(
  spool: Spool,
  file: string,
  { device, clock, local }: { device: Device; clock: Clock; local: Log },
  signal: AbortSignal,
): Promise<void> {
  let position = spool.cursor;
  while (!signal.aborted) {
    try {
      const more = await device.lines.read(file, position);
      const lines = more.lines.filter((line) => line !== '');
      await Promise.all(
        lines.map((message, i) =>
          spool.append(
            { time: clock.wall(), level: 'warn', logger: 'platform-server.StdErr', message, fields: {} },
            i === lines.length - 1 ? more.position : undefined,
          ),
        ),
      );
      position =
        more.lines.length === 0 ? await device.lines.trim(file, more.position, stderrLimitBytes) : more.position;
      if (more.lines.length === 0) await clock.sleep(lookMs, signal);
    } catch (error) {
      local.warn('the output of the machine server cannot be read', { file, error: errorText(error) });
      await clock.sleep(longestPauseMs, signal);
    }
  }
}
