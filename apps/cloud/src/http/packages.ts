import { PlatformError } from '@platform/contract/errors';
import { crcHeader } from '../blobs/package-archive.ts';
import type { BlobStore } from '../blobs/store.ts';
import { requireReaderOrPart } from '../rules/permissions.ts';
import type { Database } from '../store/database.ts';
import { findPackage } from '../store/registry.ts';
import { type Route, sendBlob } from './exchange.ts';

/**
 * GET, HEAD /packages/<organization>/<name>/<version>.tar.gz with Range. Machines insist on the content type and the checksum.
 */
export const packageDownloads = ({ db, blobs }: { db: Database; blobs: BlobStore }): Route => ({
  methods: ['GET', 'HEAD'],
  path: /^\/packages\/([^/]+)\/([^/]+)\/([^/]+)\.tar\.gz$/,
  async answer(exchange, [orgId = '', name = '', version = '']) {
    const absent = () => new PlatformError('PACKAGE_NOT_FOUND', { packageId: `${orgId}/${name}`, version });
    requireReaderOrPart(await exchange.caller(), orgId, absent);
    const found = await findPackage(db, { orgId, name, version });
    if (!found) throw absent();
    await sendBlob(exchange, blobs, {
      sha256: found.packageSha256,
      sizeBytes: found.sizeBytes,
      contentType: 'application/x-gzip',
      headers: { 'x-goog-hash': crcHeader(found.crc32c) },
    });
  },
});
