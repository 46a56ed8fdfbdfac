// A machine that sends log lines, and a user who searches them.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { RobotService } from '@platform/contract/gen/platform/app/v1/robot_pb';
import type { LogEntrySchema } from '@platform/contract/gen/platform/common/v1/common_pb';
import {
  LogDirection,
  LogService,
  type SearchLogsRequestSchema,
} from '@platform/contract/gen/platform/logs/v1/logs_pb';
import { testServer } from './server.ts';

/** A whole hour of the day before, so that no clock of the test is before a line. */
export const start = Math.floor(Date.now() / 3_600_000) * 3_600_000 - 24 * 3_600_000;
export type Entry = MessageInitShape<typeof LogEntrySchema>;
export type Request = MessageInitShape<typeof SearchLogsRequestSchema>;
type Server = Awaited<ReturnType<typeof testServer>>;

export async function machine(on: Server, name: string) {
  const { partId, part } = await on.machine(name);
  const robot = await on.client(RobotService, part);
  return {
    partId,
    send: (logs: (Entry & { ms?: number })[]) =>
      robot.log({
        id: partId,
        logs: logs.map(({ ms = 0, ...entry }) => ({ time: timestampFromMs(start + ms), ...entry })),
      }),
  };
}

export async function searcher(on: Server, ...partIds: string[]) {
  const logs = await on.client(LogService);
  const call = (request: Request = {}) =>
    logs.searchLogs({ partIds, direction: LogDirection.OLDEST_FIRST, ...request });
  return {
    logs,
    call,
    found: async (request: Request = {}) => (await call(request)).lines.map(({ entry }) => entry?.message),
  };
}
