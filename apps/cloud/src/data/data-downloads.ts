import { PlatformError } from '@platform/contract/errors';
import type { Clock } from '@platform/kit';
import { signerOf } from '../access/signed-urls.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import { isShown } from './rules/file-kind.ts';
import { parseBinaryDataId } from './rules/manifest.ts';
import { requireReader } from '../access/rules/permissions.ts';
import { mayRead } from './data-filter.ts';
import { findData } from './store/binary-data.ts';
import type { Database } from '../database/database.ts';
import { type Route, sendBlob } from '../wire/exchange.ts';

/** Path of a datum's content on this server. */
export const dataPath = (binaryDataId: string): string => `/data/${binaryDataId}`;

/**
 * GET, HEAD /data/<organization>/<location>/<file>: the bytes of a datum, with Range. For members, and by signed links.
 */
export const dataDownloads = ({
  db,
  blobs,
  clock,
  secrets,
}: {
  db: Database;
  blobs: BlobStore;
  clock: Clock;
  secrets: { signingKey: Buffer };
}): Route => ({
  methods: ['GET', 'HEAD'],
  path: /^\/data\/([^/]+)\/([^/]*)\/([^/]+)$/,
  async answer(exchange, groups) {
    const binaryDataId = groups.join('/');
    const absent = () => new PlatformError('BINARY_DATA_NOT_FOUND', { binaryDataId });
    const key = parseBinaryDataId(binaryDataId);
    const signer = signerOf(secrets.signingKey, exchange.url, clock.wall());
    if (signer !== undefined) exchange.admitLink(signer);
    const caller = signer === undefined ? await exchange.caller() : undefined;
    if (!key) throw absent();
    if (caller) requireReader(caller, key.orgId, absent);
    const [datum] = await findData(db, [key]);
    if (datum?.locationId !== key.locationId || (caller && !mayRead(caller, datum))) throw absent();
    const isInline = isShown(datum.mimeType);
    await sendBlob(exchange, blobs, {
      sha256: datum.sha256,
      sizeBytes: datum.sizeBytes,
      // Uploaded content must never run as a page of this origin.
      contentType: isInline ? datum.mimeType : 'application/octet-stream',
      headers: {
        'content-security-policy': "default-src 'none'; sandbox",
        'content-disposition': `${isInline ? 'inline' : 'attachment'}; filename*=UTF-8''${encodeURIComponent(nameOf(datum))}`,
      },
    });
  },
});

const nameOf = ({ fileName, id, fileExt }: { fileName: string; id: string; fileExt: string }): string =>
  fileName.split('/').at(-1) || `${id}${fileExt}`;
