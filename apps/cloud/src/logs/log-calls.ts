import type { ServiceImpl } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { type AppService, type GetRobotPartLogsRequest, LogOrder } from '@platform/contract/gen/platform/app/v1/app_pb';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import type { Database } from '../database/database.ts';
import type { Notifications } from '../database/notifications.ts';
import { operatedPart } from '../machines/part-access.ts';
import { pageToken, parsePageToken } from '../rpc/paging.ts';
import { msOf } from '../rpc/protobuf-times.ts';
import { publicNameKey } from '../wire/public-name.ts';
import { keptRights } from './kept-rights.ts';
import { logEntry } from './log-entries.ts';
import { lastLogId, type LogQuery, type LogRow, readLogs } from './store/part-logs.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const usualPage = 100;
const largestPage = 1_000;
const errorLevels = ['error', 'dpanic', 'panic', 'fatal'];
/** Interval of reads without a notification, because one can be missed. */
const pollMs = 5_000;

/** Converts 10m, 2h or 7d to ms. */
function rangeMs(range: string): number {
  const found = /^(\d{1,6})([smhd])$/.exec(range);
  const unit = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }[found?.[2] ?? ''];
  if (!found || unit === undefined) throw invalidArgument('range', range.slice(0, 20), 'for example 10m, 2h or 7d');
  return Number(found[1]) * unit;
}

type LogDeps = { db: Database; clock: Clock; notifications: Notifications; stop: AbortSignal };

function queryOf(request: GetRobotPartLogsRequest, partId: string, now: number): LogQuery {
  const after = parsePageToken(request.pageToken);
  const limit = Number(request.limit ?? 0n);
  const from = request.start ? msOf(request.start) : request.range ? now - rangeMs(request.range) : undefined;
  return {
    partId,
    // `errorsOnly` is deprecated, but old clients still set it.
    levels: request.errorsOnly ? errorLevels : request.levels.map((level) => level.toLowerCase()),
    isAscending: request.order === LogOrder.ASCENDING,
    limit: limit > 0 ? Math.min(limit, largestPage) : usualPage,
    ...(request.filter !== undefined && { filter: request.filter }),
    ...(request.source !== undefined && { source: request.source }),
    ...(from !== undefined && { from }),
    ...(request.end && { until: msOf(request.end) }),
    ...(after !== undefined && { after }),
  };
}

/**
 * Pages of lines as they arrive. The first page is empty: each line stored after it is in a later page. Ends with
 * `signal`.
 */
async function* newLines(
  { db, clock, notifications }: LogDeps,
  filter: Pick<LogQuery, 'partId' | 'levels' | 'filter'>,
  signal: AbortSignal,
): AsyncGenerator<LogRow[]> {
  const state = { after: await lastLogId(db, filter.partId), wake: () => {} };
  const unlisten = notifications.listen('part_log', (partId) => {
    if (partId === undefined || partId === filter.partId) state.wake();
  });
  try {
    yield [];
    while (!signal.aborted) {
      const woken = Promise.withResolvers<void>();
      state.wake = woken.resolve;
      const rows = await readLogs(db, { ...filter, isAscending: true, after: state.after, limit: largestPage });
      const last = rows.at(-1);
      if (last) {
        state.after = last.id;
        yield rows;
        continue;
      }
      const done = new AbortController();
      await Promise.race([woken.promise, clock.sleep(pollMs, AbortSignal.any([signal, done.signal]))]);
      done.abort();
    }
  } finally {
    unlisten();
  }
}

export const logCalls = (deps: LogDeps) =>
  ({
    async getRobotPartLogs(request, context) {
      const part = await operatedPart(deps.db, callerOf(context), request.id);
      const rows = await readLogs(deps.db, queryOf(request, part.id, deps.clock.wall()));
      // Clients drop a page without a token and stop at an empty page.
      const last = rows.at(-1);
      return { logs: rows.map(logEntry), nextPageToken: last ? pageToken(last.id) : '' };
    },
    async *tailRobotPartLogs(request, context) {
      const caller = callerOf(context);
      const part = await operatedPart(deps.db, caller, request.id);
      const requireRights = keptRights(deps, caller, [part.id]);
      const filter = {
        partId: part.id,
        levels: request.errorsOnly ? errorLevels : [],
        ...(request.filter !== undefined && { filter: request.filter }),
      };
      const isPublic = context.values.get(publicNameKey);
      for await (const rows of newLines(deps, filter, AbortSignal.any([context.signal, deps.stop]))) {
        await requireRights();
        // The empty page sends the headers, so that our clients know the tail is active. The public Python SDK would end
        // its loop at a message without lines.
        if (rows.length > 0 || !isPublic) yield { logs: rows.map(logEntry) };
      }
    },
  }) satisfies Partial<ServiceImpl<typeof AppService>>;

/**
 * At most `most` searches run at once, so that they leave the connections of the database to machines. Others wait for
 * their turn.
 */
export class SearchSlots {
  #running = 0;
  readonly #waiting = new Set<() => void>();
  readonly #of: { clock: Clock; most: number; waitMs: number };

  constructor(of: { clock: Clock; most: number; waitMs: number }) {
    this.#of = of;
  }

  /** @throws PlatformError LOG_SEARCH_BUSY */
  async run<T>(signal: AbortSignal, search: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await search();
    } finally {
      this.#leave();
    }
  }

  async #enter(signal: AbortSignal): Promise<void> {
    const { clock, most, waitMs } = this.#of;
    if (this.#running < most) {
      this.#running++;
      return;
    }
    const turn = Promise.withResolvers<void>();
    this.#waiting.add(turn.resolve);
    const done = new AbortController();
    await Promise.race([turn.promise, clock.sleep(waitMs, AbortSignal.any([signal, done.signal]))]);
    done.abort();
    // Whoever no longer waits was given the slot of another search.
    if (this.#waiting.delete(turn.resolve))
      throw new PlatformError('LOG_SEARCH_BUSY', { searches: most, seconds: waitMs / 1_000 });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (!next) {
      this.#running--;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
