import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import { requireMember } from '../access/rules/permissions.ts';
import type { Secrets } from '../access/secrets.ts';
import { signerOf } from '../access/signed-urls.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Database } from '../database/database.ts';
import { type Route, sendBlob } from '../wire/exchange.ts';
import { findExport } from './store/sequence-exports.ts';

/** Path of the file of an export on this server. */
export const exportPath = (jobId: string): string => `/sequence-exports/${jobId}.parquet`;

/** GET, HEAD /sequence-exports/<job>.parquet: the exported file, with Range. For members, and by signed links. */
export const sequenceExportDownloads = (deps: {
  db: Database;
  blobs: BlobStore;
  clock: Clock;
  secrets: Secrets;
}): Route => ({
  methods: ['GET', 'HEAD'],
  path: /^\/sequence-exports\/([^/]+)\.parquet$/,
  async answer(exchange, [jobId = '']) {
    const { db, blobs, clock, secrets } = deps;
    const absent = () => new PlatformError('DATASET_EXPORT_NOT_FOUND', { jobId });
    const signer = signerOf(secrets.signingKey, exchange.url, clock.wall());
    if (signer !== undefined) exchange.admitLink(signer);
    const caller = signer === undefined ? await exchange.caller() : undefined;
    const found = await findExport(db, jobId);
    if (!found) throw absent();
    if (caller) requireMember(caller, found.orgId, absent);
    const { fileSha256, sizeBytes } = found;
    if (fileSha256 === null || sizeBytes === null) throw absent();
    await sendBlob(exchange, blobs, {
      sha256: fileSha256,
      sizeBytes,
      contentType: 'application/vnd.apache.parquet',
      headers: { 'content-disposition': `attachment; filename="${found.id}.parquet"` },
    });
  },
});
