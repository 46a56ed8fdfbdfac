import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  AuthenticationType,
  type GetRobotPartHistoryResponseSchema,
} from '@platform/contract/gen/platform/app/v1/app_pb';
import { pageBytes, readBounded } from '../rpc/rules/answer-bounds.ts';
import { shownConfig } from './rules/shown-config.ts';
import { type ConfigRow, findConfig, revisionsBefore, type SavedRevision } from './store/configs.ts';
import type { Database } from '../database/database.ts';
import type { PartRow } from '../machines/store/machines.ts';
import { pageToken } from '../rpc/paging.ts';

/** Largest number of entries in a page. */
export const longestHistory = 100;

type Entry = { row: SavedRevision; before: ConfigRow | undefined };
type Page = { before: number | undefined; limit: number; from?: number; until?: number };

/** Newest first. Each entry contains the configuration before the change. */
export async function partHistory(
  db: Database,
  part: PartRow,
  { before, limit: rows, ...times }: Page,
): Promise<MessageInitShape<typeof GetRobotPartHistoryResponseSchema>> {
  // Each entry contains a configuration twice, which may be large, so entries are read one at a time.
  const of = { rows, bytes: pageBytes, atOnce: 1, size: ({ before: old }: Entry) => 500 + 2 * (old?.text.length ?? 0) };
  const { rows: entries, isCut } = await readBounded<Entry>(of, async (last, limit) => {
    const found = await revisionsBefore(db, part.id, { ...times, before: last?.row.revision ?? before, limit });
    return Promise.all(
      found.map(async (row) => ({
        row,
        before: row.revision > 1 ? await findConfig(db, part.id, row.revision - 1) : undefined,
      })),
    );
  });
  const last = entries.at(-1);
  return {
    history: entries.map(({ row, before: old }) => ({
      part: part.id,
      robot: part.machineId,
      when: timestampFromMs(row.savedOn),
      old: {
        id: part.id,
        name: part.name,
        robot: part.machineId,
        ...shownConfig(old),
      },
      editedBy: {
        type: row.savedBy.startsWith('api_key') ? AuthenticationType.API_KEY : AuthenticationType.WEB_OAUTH,
        value: row.savedBy,
      },
    })),
    nextPageToken: isCut && last ? pageToken(last.row.revision) : '',
  };
}
