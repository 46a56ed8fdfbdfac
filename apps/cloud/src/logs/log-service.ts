import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import {
  type CountLogsRequest,
  type CountLogsResponseSchema,
  LogCountSchema,
  LogDirection,
  LogService,
  type SearchLogsRequest,
  type SearchLogsResponseSchema,
} from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { requireLogQuery } from '@platform/contract/logs/filter';
import { mostMachines } from '@platform/contract/logs/query';
import type { Clock } from '@platform/kit';
import { callerOf } from '../access/caller.ts';
import type { Caller } from '../access/rules/permissions.ts';
import type { Database } from '../database/database.ts';
import type { Notifications } from '../database/notifications.ts';
import { operatedPart } from '../machines/part-access.ts';
import { msOf, timeOf } from '../rpc/protobuf-times.ts';
import { lineToken, readLineToken } from '../rpc/rules/page-tokens.ts';
import { keptRights } from './kept-rights.ts';
import { logEntry } from './log-entries.ts';
import { OpenWatches, storedLines } from './log-watch.ts';
import { intervalOf } from './rules/log-intervals.ts';
import { SearchSlots } from './log-calls.ts';
import { countLines, type LogSpan, searchLines, type SearchTime } from './store/log-search.ts';

const directions: ReadonlySet<number> = new Set(Object.values(LogDirection));
const usualPage = 100;
const largestPage = 1_000;
const usualIntervals = 100;
const mostIntervals = 500;
const longestDays = 366;
const dayMs = 24 * 3_600_000;
/** Limit of one call. A scan of 1,000,000 lines for a text takes about two seconds. */
const searchMs = 10_000;
/** A quarter of the connections of the database. */
const mostSearches = 4;

type LogServiceDeps = { db: Database; clock: Clock; notifications: Notifications; stop: AbortSignal };

const refuse = (field: string, value: string | number, limit: string): PlatformError =>
  new PlatformError('INVALID_ARGUMENT', { field, value, limit });

export const logRoutes = (deps: LogServiceDeps) => {
  const watches = new OpenWatches();
  const slots = new SearchSlots({ clock: deps.clock, most: mostSearches, waitMs: searchMs });
  return (router: ConnectRouter): void => {
    router.service(LogService, {
      searchLogs: (request, context) =>
        searchLogs(deps, request, callerOf(context), (run) => slots.run(context.signal, run)),
      countLogs: (request, context) =>
        countLogs(deps, request, callerOf(context), (run) => slots.run(context.signal, run)),
      async *watchLogs(request, context) {
        const caller = callerOf(context);
        const partIds = await operatedParts(deps.db, request.partIds, caller);
        const requireRights = keptRights(deps, caller, partIds);
        const end = watches.begin(caller.id);
        try {
          for await (const _ of storedLines(deps, partIds, AbortSignal.any([context.signal, deps.stop]))) {
            await requireRights();
            yield {};
          }
        } finally {
          end();
        }
      },
    });
  };
};

type InTurn = <T>(search: () => Promise<T>) => Promise<T>;

async function searchLogs(
  deps: LogServiceDeps,
  request: SearchLogsRequest,
  caller: Caller,
  inTurn: InTurn,
): Promise<MessageInitShape<typeof SearchLogsResponseSchema>> {
  if (request.limit > largestPage) throw refuse('limit', request.limit, `at most ${largestPage}`);
  if (!directions.has(request.direction)) throw refuse('direction', request.direction, 'a LogDirection, 0 to 2');
  const after = readLineToken(request.cursor);
  const search = {
    ...(await spanOf(deps, request, caller)),
    isAscending: request.direction === LogDirection.OLDEST_FIRST,
    limit: request.limit || usualPage,
    ...(after && { after }),
  };
  const { rows, isCut } = await inTurn(() => searchLines(deps.db, search, searchTime(deps.clock)));
  return {
    lines: rows.map((row) => ({ partId: row.partId, entry: logEntry(row), cursor: lineToken(row.place) })),
    hasMore: isCut,
  };
}

async function countLogs(
  deps: LogServiceDeps,
  request: CountLogsRequest,
  caller: Caller,
  inTurn: InTurn,
): Promise<MessageInitShape<typeof CountLogsResponseSchema>> {
  if (request.most > mostIntervals) throw refuse('most', request.most, `at most ${mostIntervals}`);
  const { from, until, ...span } = await spanOf(deps, request, caller);
  if (from === undefined) throw refuse('from', '', 'a time');
  if (until === undefined) throw refuse('until', '', 'a time');
  if (until - from > longestDays * dayMs)
    throw refuse('from', new Date(from).toISOString(), `at most ${longestDays} days before until`);
  const intervalMs = intervalOf({ from, until }, request.most || usualIntervals);
  const rows = await inTurn(() =>
    countLines(deps.db, { ...span, from, until }, { intervalMs, time: searchTime(deps.clock) }),
  );
  const total = create(LogCountSchema);
  const counts = new Map<number, typeof total>();
  for (const { start, level, lines } of rows) {
    const count = counts.get(start) ?? create(LogCountSchema, { start: timeOf(start) });
    counts.set(start, count);
    count[level] += BigInt(lines);
    total[level] += BigInt(lines);
  }
  return { counts: [...counts.values()], interval: durationFromMs(intervalMs), total };
}

/** @throws PlatformError INVALID_ARGUMENT, PART_NOT_FOUND, PERMISSION_DENIED */
async function operatedParts(db: Database, named: readonly string[], caller: Caller): Promise<string[]> {
  const ids = [...new Set(named)];
  if (ids.length === 0 || ids.length > mostMachines)
    throw refuse('part_ids', `${ids.length} parts`, `1 to ${mostMachines}`);
  // An ID in capitals names the same part.
  const partIds = new Set<string>();
  for (const id of ids) partIds.add((await operatedPart(db, caller, id)).id);
  return [...partIds];
}

type SpanRequest = Pick<SearchLogsRequest, 'partIds' | 'query' | 'from' | 'until'>;

/** @throws PlatformError QUERY_NOT_VALID, INVALID_ARGUMENT, PART_NOT_FOUND, PERMISSION_DENIED */
async function spanOf({ db }: LogServiceDeps, request: SpanRequest, caller: Caller): Promise<LogSpan> {
  const terms = requireLogQuery(request.query);
  const partIds = await operatedParts(db, request.partIds, caller);
  const from = request.from && msOf(request.from);
  const until = request.until && msOf(request.until);
  if (from !== undefined && until !== undefined && !(from < until))
    throw refuse('from', new Date(from).toISOString(), 'before until');
  return { partIds, terms, ...(from !== undefined && { from }), ...(until !== undefined && { until }) };
}

function searchTime(clock: Clock): SearchTime {
  const start = clock.now();
  return { limitMs: searchMs, leftMs: () => searchMs - (clock.now() - start) };
}
