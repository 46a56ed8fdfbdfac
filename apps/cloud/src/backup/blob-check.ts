import { stat } from 'node:fs/promises';
import path from 'node:path';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock, Log } from '@platform/kit';
import { readJson } from '@platform/kit/node';
import { readBlobMark, writeBlobMark } from '../blobs/installation-mark.ts';
import { namedFiles } from '../blobs/store/own-blobs.ts';
import { blobPath, blobsFolder } from './backup-folder.ts';
import { connectAs, reachDatabase } from './database-access.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

const sampleSize = 100;

/** What the folder of the blobs is. */
export type BlobFolder = {
  folder: string;
  mark: 'own' | 'missing' | 'foreign';
  /** The installation that the mark names, if it is another one. */
  foundId: string | undefined;
  /** Undefined: the database was not asked. */
  files: BlobSample | undefined;
};

export type BlobSample = {
  /** Files that rows name. */
  named: number;
  /** How many of them were looked for, chosen at random. */
  sampled: number;
  /** Hashes of those that are not there. */
  missing: string[];
};

type Of = { dataFolder: string; databaseUrl: string | undefined; clock: Clock; log: Log };

/** @param asksDatabase - looks for files that rows name, too. An embedded database is started if it is stopped. */
export async function inspectBlobs(of: Of, asksDatabase: boolean): Promise<BlobFolder> {
  const folder = path.join(of.dataFolder, blobsFolder);
  const [own, found] = [await installationOf(of.dataFolder), await readBlobMark(folder)];
  const mark = found === undefined ? 'missing' : found === own ? 'own' : 'foreign';
  const files = asksDatabase ? await sampleFiles(of) : undefined;
  return { folder, mark, foundId: mark === 'foreign' ? found : undefined, files };
}

/**
 * Marks the folder of the blobs as that of this installation.
 *
 * @param acceptMissing - also if files that rows name are not in it.
 * @throws PlatformError BLOBS_NOT_MOUNTED
 */
export async function adoptBlobs(of: Of, acceptMissing: boolean): Promise<BlobFolder> {
  const found = await inspectBlobs(of, true);
  const { folder, files } = found;
  const missing = files?.missing.length ?? 0;
  if (missing > 0 && !acceptMissing) {
    const problem = `of ${files?.sampled} files that rows of the database name, chosen at random among ${files?.named}, ${missing} are not in it. If they are lost for good, add --accept-missing`;
    throw new PlatformError('BLOBS_NOT_MOUNTED', { path: folder, problem });
  }
  await writeBlobMark(folder, await installationOf(of.dataFolder));
  return { ...found, mark: 'own', foundId: undefined };
}

async function installationOf(dataFolder: string): Promise<string> {
  const secrets = (await readJson(path.join(dataFolder, 'secrets.json'))) as { installation_id?: string } | undefined;
  if (secrets?.installation_id !== undefined) return secrets.installation_id;
  throw invalidArgument('data-dir', dataFolder, 'the data folder of a server that has started once');
}

async function sampleFiles(of: Of): Promise<BlobSample> {
  await using reached = await reachDatabase(of);
  await using client = await connectAs(reached.connection, of.dataFolder);
  const { rows } = await client.query<{ sha256: string; named: string }>(
    `select sha256, count(*) over () as named from (${namedFiles}) named order by random() limit ${sampleSize}`,
  );
  const missing: string[] = [];
  for (const { sha256 } of rows) {
    const isThere = await stat(blobPath(of.dataFolder, sha256)).then(
      () => true,
      () => false,
    );
    if (!isThere) missing.push(sha256);
  }
  return { named: Number(rows[0]?.named ?? 0), sampled: rows.length, missing };
}
