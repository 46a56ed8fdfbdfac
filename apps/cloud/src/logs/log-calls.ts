import type { ServiceImpl } from '@connectrpc/connect';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { PlatformError } from '@platform/contract/errors';
import { type AppService, LogOrder } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import type { Database } from '../database/database.ts';
import type { Notifications } from '../database/notifications.ts';
import { operatedPart } from '../machines/part-access.ts';
import { pageToken, parsePageToken } from '../rpc/paging.ts';
import { publicNameKey } from '../wire/public-name.ts';
import { logEntry } from './log-entries.ts';
import { lastLogId, readLogs } from './store/part-logs.ts';

const usualPage = 100;
const largestPage = 1_000;
const errorLevels = ['error', 'dpanic', 'panic', 'fatal'];
/** Interval of a second look, because a notification can be missed. */
const lookAgainMs = 5_000;

/** Converts 10m, 2h or 7d to ms. */
function rangeMs(range: string): number {
  const found = /^(\d{1,6})([smhd])$/.exec(range);
  const unit = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[found?.[2] ?? ''];
  if (!found || unit === undefined)
    throw new PlatformError('INVALID_ARGUMENT', {
      field: 'range',
      value: range.slice(0, 20),
      limit: 'for example 10m, 2h or 7d',
    });
  return Number(found[1]) * unit;
}

type LogDeps = { db: Database; clock: Clock; notifications: Notifications; stop: AbortSignal };

export const logCalls = ({ db, clock, notifications, stop }: LogDeps) =>
  ({
    async getRobotPartLogs(request, context) {
      const part = await operatedPart(db, callerOf(context), request.id);
      const after = parsePageToken(request.pageToken);
      const wanted = Number(request.limit ?? 0n);
      const from = request.start
        ? timestampMs(request.start)
        : request.range
          ? clock.wall() - rangeMs(request.range)
          : undefined;
      const rows = await readLogs(db, {
        partId: part.id,
        // `errorsOnly` is deprecated, but old clients still set it.
        levels: request.errorsOnly ? errorLevels : request.levels.map((level) => level.toLowerCase()),
        isAscending: request.order === LogOrder.ASCENDING,
        limit: wanted > 0 ? Math.min(wanted, largestPage) : usualPage,
        ...(request.filter !== undefined && { filter: request.filter }),
        ...(request.source !== undefined && { source: request.source }),
        ...(from !== undefined && { from }),
        ...(request.end && { until: timestampMs(request.end) }),
        ...(after !== undefined && { after }),
      });
      // Clients drop a page without a token and stop at an empty page.
      const last = rows.at(-1);
      return { logs: rows.map(logEntry), nextPageToken: last ? pageToken(last.id) : '' };
    },
    async *tailRobotPartLogs(request, context) {
      const part = await operatedPart(db, callerOf(context), request.id);
      const ended = AbortSignal.any([context.signal, stop]);
      const state = { after: await lastLogId(db, part.id), wake: () => {} };
      const quiet = notifications.listen('part_log', (partId) => {
        if (partId === undefined || partId === part.id) state.wake();
      });
      try {
        // The first message sends the headers, so that our clients know the tail is active. The public Python SDK would
        // end its loop at a message without lines.
        if (!context.values.get(publicNameKey)) yield { logs: [] };
        while (!ended.aborted) {
          const woken = Promise.withResolvers<void>();
          state.wake = woken.resolve;
          const rows = await readLogs(db, {
            partId: part.id,
            levels: request.errorsOnly ? errorLevels : [],
            isAscending: true,
            after: state.after,
            limit: largestPage,
            ...(request.filter !== undefined && { filter: request.filter }),
          });
          const last = rows.at(-1);
          if (last) {
            state.after = last.id;
            yield { logs: rows.map(logEntry) };
            continue;
          }
          const done = new AbortController();
          await Promise.race([woken.promise, clock.sleep(lookAgainMs, AbortSignal.any([ended, done.signal]))]);
          done.abort();
        }
      } finally {
        quiet();
      }
    },
  }) satisfies Partial<ServiceImpl<typeof AppService>>;
