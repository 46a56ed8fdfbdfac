import { timestampDate, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { PlatformError } from '@platform/contract/errors/errors';
import { attachmentFiles } from '@platform/contract/releases/target-path';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Database } from '../database/database.ts';
import { type Route, sendBlob } from '../wire/exchange.ts';
import { findAttachment } from './store/attachments.ts';
import { findRelease } from './store/releases.ts';

/**
 * GET /releases/<name>/<version>/<os-arch>/<file name>: public, because agents download without credentials and check
 * the sha256.
 */
export const releaseFileRoutes = ({ db, blobs }: { db: Database; blobs: BlobStore }): Route[] => [
  {
    methods: ['GET', 'HEAD'],
    path: /^\/releases\/([^/]+)\/([^/]+)\/([^/-]+)-([^/]+)\/(sbom\.cdx\.json|licenses\.txt)$/,
    async answer(exchange, [name = '', version = '', os = '', arch = '', file = '']) {
      const platform = `${os}/${arch}`;
      if (!(await findRelease(db, name, version, platform)))
        throw new PlatformError('RELEASE_NOT_FOUND', { name, version, platform });
      const kind = file === attachmentFiles.sbom ? 'sbom' : 'licenses';
      const found = await findAttachment(db, { name, version, platform, kind });
      if (!found) throw new PlatformError('RELEASE_ATTACHMENT_MISSING', { name, version, platform, file });
      await sendBlob(exchange, blobs, {
        sha256: found.sha256.toString('hex'),
        sizeBytes: found.sizeBytes,
        contentType: kind === 'sbom' ? 'application/vnd.cyclonedx+json' : 'text/plain; charset=utf-8',
        isImmutable: false,
      });
    },
  },
  {
    methods: ['GET', 'HEAD'],
    path: /^\/releases\/([^/]+)\/([^/]+)\/([^/-]+)-([^/]+)\/[^/]+$/,
    async answer(exchange, [name = '', version = '', os = '', arch = '']) {
      const release = await findRelease(db, name, version, `${os}/${arch}`);
      if (!release) throw new PlatformError('RELEASE_NOT_FOUND', { name, version, platform: `${os}/${arch}` });
      await sendBlob(exchange, blobs, {
        sha256: release.sha256.toString('hex'),
        sizeBytes: release.sizeBytes,
        contentType: 'application/octet-stream',
        isImmutable: true,
        headers: { 'last-modified': httpTime(release.publishedOn) },
      });
    },
  },
];

/** ms since 1970 as an HTTP date, for example Thu, 01 Jan 1970 00:00:00 GMT. */
const httpTime = (ms: number): string => timestampDate(timestampFromMs(ms)).toUTCString();
