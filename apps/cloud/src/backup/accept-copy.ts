import { createReadStream } from 'node:fs';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { to as copyTo } from 'pg-copy-streams';
import { PlatformError } from '@platform/contract/errors/errors';
import { errorText, type Log } from '@platform/kit';
import { filesToBackUp } from '../blobs/store/owned-blobs.ts';
import type { Connection } from '../database/database.ts';
import { blobPath, type Damage, hashOf } from './backup-folder.ts';
import { connectAs } from './database-access.ts';
import { markRunning } from './running-mark.ts';

const tablesQuery = `
  select quote_ident(relname) as name from pg_class
   where relnamespace = current_schema()::regnamespace and relkind = 'r' order by 1`;

/**
 * Checks a copy that was made while a server used the original: reads every row, makes every index anew, and compares
 * the hash of every file that a row names. If all is well, the folder is no longer taken for a copy.
 *
 * @throws PlatformError COPY_DAMAGED
 */
export async function acceptCopy(
  connection: Connection,
  { dataFolder }: { dataFolder: string },
  log: Log,
): Promise<void> {
  log.warn('checking the copy of a folder that was in use: every row and every file', { folder: dataFolder });
  await using client = await connectAs(connection, dataFolder);
  const damaged: Damage[] = [];
  for (const { name } of (await client.query<{ name: string }>(tablesQuery)).rows) {
    try {
      await pipeline(client.query(copyTo(`copy ${name} to stdout`)), nowhere());
      await client.query(`reindex table ${name}`);
    } catch (error) {
      damaged.push({ file: `table ${name}`, problem: errorText(error) });
    }
  }
  const { rows } = await client.query<{ sha256: string; isRequired: boolean }>(filesToBackUp({ hasAttachments: true }));
  for (const { sha256 } of rows.filter(({ isRequired }) => isRequired)) {
    const file = blobPath(dataFolder, sha256);
    const real = await hashOf(createReadStream(file)).catch(errorText);
    if (real !== sha256) damaged.push({ file, problem: real.length === 64 ? `its sha256 is ${real}` : real });
  }
  const [first, ...more] = damaged;
  if (first)
    throw new PlatformError('COPY_DAMAGED', {
      path: dataFolder,
      ...first,
      ...(more.length > 0 && { more: more.length }),
    });
  await markRunning(dataFolder);
  log.warn('the copy passed the check', { files: rows.length });
}

const nowhere = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });
