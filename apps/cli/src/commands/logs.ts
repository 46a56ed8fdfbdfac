import type { Command } from 'commander';
import type { LogEntry } from '@platform/contract/gen/platform/common/v1/common_pb';
import { isAbort } from '@platform/kit';
import { isoTime, printable } from '../output.ts';
import type { Run } from '../run.ts';
import { collect } from '../values.ts';
import { findMachine } from './machine.ts';

const fieldsOf = (entry: LogEntry): Record<string, unknown> =>
  Object.assign({}, ...(entry.fields as Record<string, unknown>[])) as Record<string, unknown>;

const lineJson = (entry: LogEntry): Record<string, unknown> => ({
  time: isoTime(entry.time),
  level: entry.level,
  logger: entry.loggerName,
  message: entry.message,
  fields: fieldsOf(entry),
});

export function logLine(entry: LogEntry): string {
  const fields = Object.entries(fieldsOf(entry)).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return printable(
    [isoTime(entry.time), entry.level.toUpperCase().padEnd(5), entry.loggerName, entry.message, ...fields].join(' '),
  );
}

export function logCommands(program: Command, run: Run): void {
  program
    .command('logs <machine>')
    .description('log lines of a machine, oldest first')
    .option('-f, --follow', 'go on with new lines until Ctrl-C')
    .option('-n, --lines <n>', 'how many of the newest lines', '100')
    .option('--level <level>', 'only this level: debug, info, warn, error; again for more', collect)
    .option('--filter <text>', 'only lines that contain this text')
    .action(
      run(
        async (
          { connection, output, signal },
          name: string,
          options: { follow?: boolean; lines: string; level?: string[]; filter?: string },
        ) => {
          const { client, ...rest } = await connection();
          const { partId } = await findMachine({ client, ...rest }, name);
          const print = (entry: LogEntry): void => {
            output.json(lineJson(entry));
            output.text(logLine(entry));
          };
          const limit = Math.max(1, Math.min(10_000, Number(options.lines) || 100));
          const newest: LogEntry[] = [];
          for (let pageToken = ''; newest.length < limit;) {
            const page = await client.appClient.getRobotPartLogs({
              id: partId,
              levels: options.level ?? [],
              limit: BigInt(Math.min(1000, limit - newest.length)),
              ...(options.filter !== undefined && { filter: options.filter }),
              ...(pageToken !== '' && { pageToken }),
            });
            newest.push(...page.logs);
            pageToken = page.nextPageToken;
            if (page.logs.length === 0 || pageToken === '') break;
          }
          for (const entry of newest.slice(0, limit).toReversed()) print(entry);
          if (!options.follow) return;
          try {
            for await (const { logs } of client.appClient.tailRobotPartLogs(
              { id: partId, errorsOnly: false, ...(options.filter !== undefined && { filter: options.filter }) },
              { signal },
            )) {
              for (const entry of logs) if (!options.level || options.level.includes(entry.level)) print(entry);
            }
          } catch (error) {
            if (!signal.aborted && !isAbort(error)) throw error;
          }
        },
      ),
    );
}
