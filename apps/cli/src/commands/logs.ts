import type { Command } from 'commander';
import type { LogEntry } from '@platform/contract/gen/platform/common/v1/common_pb';
import { fieldPairs } from '@platform/contract/log-fields';
import { droppedLines } from '@platform/contract/log-marker';
import { isAbort } from '@platform/kit';
import { choicesOption } from '../choices.ts';
import { counted, isoTime, printable } from '../output.ts';
import type { Run } from '../run.ts';
import { wholeNumber } from '../values.ts';
import { findMachine } from '../find/machine.ts';

const levels = { debug: 'debug', info: 'info', warn: 'warn', error: 'error' } as const;

const fieldsOf = (entry: LogEntry): Record<string, unknown> => Object.fromEntries(fieldPairs(entry.fields));

const lineJson = (entry: LogEntry): Record<string, unknown> => ({
  time: isoTime(entry.time),
  level: entry.level,
  logger: entry.loggerName,
  message: entry.message,
  fields: fieldsOf(entry),
  dropped_lines: droppedLines(entry.fields),
});

/** Formats a line for users. A marker line shows the number of lost lines. */
function logLine(entry: LogEntry): string {
  const dropped = droppedLines(entry.fields);
  if (dropped > 0)
    return printable(`${isoTime(entry.time)} ----- ${counted(dropped, 'line')} lost here: ${entry.message} -----`);
  const fields = fieldPairs(entry.fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return printable(
    [isoTime(entry.time), entry.level.toUpperCase().padEnd(5), entry.loggerName, entry.message, ...fields].join(' '),
  );
}

/** Deduplication key: the same line has the same key in the history and in the live stream. */
const keyOf = (entry: LogEntry): string =>
  entry.position > 0n
    ? String(entry.position)
    : entry.bootId !== '' && entry.sequence > 0n
      ? `${entry.bootId} ${entry.sequence}`
      : `${entry.time?.seconds} ${entry.time?.nanos} ${logLine(entry)}`;

export function logCommands(program: Command, run: Run): void {
  program
    .command('logs <machine>')
    .description('log lines of a machine, in the order in which they arrived')
    .option('-f, --follow', 'go on with new lines until Ctrl-C')
    .option('-n, --lines <n>', 'how many of the newest lines', '100')
    .addOption(choicesOption('--level <level>', 'only this level; again for more', levels))
    .option('--filter <text>', 'only lines that contain this text')
    .action(
      run(
        async (
          { connection, output, signal },
          name: string,
          options: { follow?: boolean; lines: string; level?: (keyof typeof levels)[]; filter?: string },
        ) => {
          const limit = wholeNumber('--lines', options.lines, { max: 10_000 });
          const { level } = options;
          const { client, ...rest } = await connection();
          const { partId } = await findMachine({ client, ...rest }, name);
          const print = (entry: LogEntry): void => {
            output.json(lineJson(entry));
            output.text(logLine(entry));
          };
          const filter = options.filter !== undefined && { filter: options.filter };
          // Subscribe before reading the history, so that no line is lost in between; duplicates are removed.
          const tail = options.follow
            ? client.appClient.tailRobotPartLogs({ id: partId, errorsOnly: false, ...filter }, { signal })
            : undefined;
          const live = tail?.[Symbol.asyncIterator]();
          try {
            await live?.next();
            const newest: LogEntry[] = [];
            for (let pageToken = ''; newest.length < limit;) {
              const page = await client.appClient.getRobotPartLogs({
                id: partId,
                levels: level ?? [],
                limit: BigInt(Math.min(1000, limit - newest.length)),
                ...filter,
                ...(pageToken !== '' && { pageToken }),
              });
              newest.push(...page.logs);
              pageToken = page.nextPageToken;
              if (page.logs.length === 0 || pageToken === '') break;
            }
            const shown = newest.slice(0, limit).toReversed();
            shown.forEach(print);
            const seen = new Set(shown.map(keyOf));
            for (let next = await live?.next(); next && !next.done; next = await live?.next()) {
              for (const entry of next.value.logs) {
                if (level && !level.some((one) => one === entry.level)) continue;
                if (!seen.delete(keyOf(entry))) print(entry);
              }
            }
          } catch (error) {
            if (!signal.aborted && !isAbort(error)) throw error;
          }
        },
      ),
    );
}
