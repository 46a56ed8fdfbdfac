import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Command } from 'commander';
import type { LogEntry } from '@platform/contract/gen/platform/common/v1/common_pb';
import { LogDirection, LogService } from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { requireLogQuery } from '@platform/contract/logs/filter';
import { isAbort } from '@platform/kit';
import { systemClock, Usage } from '@platform/kit/node';
import { choicesOption } from '../choices.ts';
import type { Connection } from '../connection.ts';
import type { Run } from '../run.ts';
import { timeBefore, wholeNumber } from '../values.ts';
import { findMachine } from '../find/machine.ts';
import { logLineJson, logLineKey, logLineText } from '../views/log-line.ts';

const levels = { debug: 'debug', info: 'info', warn: 'warn', error: 'error' } as const;
const usualLines = 100;
const mostLines = 10_000;
/** Lines of a page. */
const pageLines = 1_000;

interface LogOptions {
  follow?: boolean;
  lines?: string;
  level?: (keyof typeof levels)[];
  filter?: string;
  from?: string;
  until?: string;
}

/** `print` is called for each line, the oldest first. */
interface Target {
  connection: Connection;
  partId: string;
  signal: AbortSignal;
  print: (entry: LogEntry) => void;
}

export function logCommands(program: Command, run: Run): void {
  program
    .command('logs <machine> [query...]')
    .description('print log lines of a machine: the newest, those that match a query, or all of a period')
    .option('-f, --follow', 'print new lines until Ctrl-C')
    .option('-n, --lines <n>', `number of newest lines; default: ${usualLines}, with --from or --until all`)
    .option('--from <time>', 'all lines since this time: 2h, 7d, 2026-03-01 or 2026-03-01T12:00:00Z')
    .option('--until <time>', 'all lines before this time')
    .addOption(choicesOption('--level <level>', 'only lines of this level (repeatable)', levels))
    .option('--filter <text>', 'only lines that contain this text')
    .action(
      run(async ({ connection, output, signal }, name: string, words: string[], options: LogOptions) => {
        const isByTime = words.length > 0 || options.from !== undefined || options.until !== undefined;
        if (isByTime && options.follow)
          throw new Usage('--follow takes no query and no time. Use --filter and --level.', 2);
        const lines = wholeNumber('--lines', options.lines ?? String(usualLines), { max: mostLines });
        const query = queryOf(words, options);
        requireLogQuery(query);
        const opened = await connection();
        const { partId } = await findMachine(opened, name);
        const print = (entry: LogEntry): void => {
          output.json(logLineJson(entry));
          output.text(logLineText(entry));
        };
        const target = { connection: opened, partId, signal, print };
        try {
          if (isByTime) await printFound(target, { query, lines, options });
          else await printNewest(target, { lines, options });
        } catch (error) {
          if (!signal.aborted && !isAbort(error)) throw error;
        }
      }),
    );
}

/** The words of a query, with the options that existed before queries. */
const queryOf = (words: readonly string[], { level = [], filter }: LogOptions): string =>
  [
    ...words,
    ...(level.length > 0 ? [`level:${level.join(',')}`] : []),
    ...(filter === undefined || filter === '' ? [] : [`"${filter.replaceAll('"', '\\"')}"`]),
  ].join(' ');

/** With a time and without a number, all lines are printed as they come, so that any amount fits. */
async function printFound(
  { connection, partId, signal, print }: Target,
  { query, lines, options }: { query: string; lines: number; options: LogOptions },
): Promise<void> {
  const client = connection.rpc(LogService);
  const now = systemClock.wall();
  const from = options.from === undefined ? undefined : timeBefore('--from', options.from, now);
  const until = options.until === undefined ? undefined : timeBefore('--until', options.until, now);
  const isAll = options.lines === undefined && (from !== undefined || until !== undefined);
  const most = isAll ? Number.POSITIVE_INFINITY : lines;
  const newest: LogEntry[] = [];
  for (let cursor = '', hasMore = true, count = 0; hasMore && count < most;) {
    const page = await client.searchLogs(
      {
        partIds: [partId],
        query,
        direction: isAll ? LogDirection.OLDEST_FIRST : LogDirection.NEWEST_FIRST,
        limit: Math.min(pageLines, most - count),
        cursor,
        ...(from !== undefined && { from: timestampFromMs(from) }),
        ...(until !== undefined && { until: timestampFromMs(until) }),
      },
      { signal },
    );
    const entries = page.lines.flatMap(({ entry }) => entry ?? []);
    if (isAll) entries.forEach(print);
    else newest.push(...entries);
    count += entries.length;
    cursor = page.lines.at(-1)?.cursor ?? '';
    hasMore = page.hasMore;
  }
  newest.toReversed().forEach(print);
}

/** In the order of arrival, so that new lines can follow. */
async function printNewest(
  { connection: { client }, partId, signal, print }: Target,
  { lines, options: { follow, level, filter: text } }: { lines: number; options: LogOptions },
): Promise<void> {
  const filter = text !== undefined && { filter: text };
  // Subscribe before reading the history, so that no line is lost in between; duplicates are removed.
  const tail = follow
    ? client.appClient.tailRobotPartLogs({ id: partId, errorsOnly: false, ...filter }, { signal })
    : undefined;
  const live = tail?.[Symbol.asyncIterator]();
  await live?.next();
  const newest: LogEntry[] = [];
  for (let pageToken = ''; newest.length < lines;) {
    const page = await client.appClient.getRobotPartLogs({
      id: partId,
      levels: level ?? [],
      limit: BigInt(Math.min(pageLines, lines - newest.length)),
      ...filter,
      ...(pageToken !== '' && { pageToken }),
    });
    newest.push(...page.logs);
    pageToken = page.nextPageToken;
    if (page.logs.length === 0 || pageToken === '') break;
  }
  const shown = newest.slice(0, lines).toReversed();
  shown.forEach(print);
  const seen = new Set(shown.map(logLineKey));
  for (let next = await live?.next(); next && !next.done; next = await live?.next()) {
    for (const entry of next.value.logs) {
      if (level && !level.some((one) => one === entry.level)) continue;
      if (!seen.delete(logLineKey(entry))) print(entry);
    }
  }
}
