import { parseObject } from '@platform/contract/text/json-object';
import { PlatformError } from '@platform/contract/errors/errors';
import type { Clock } from '@platform/kit';
import { announcedBytes } from '../access/caller-budgets.ts';
import { requireReaderOrPart } from '../access/rules/permissions.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import { checksumHeader, formatChecksum } from '@platform/sandbox/package-checksum';
import type { Database } from '../database/database.ts';
import { type Route, sendBlob, sendJson } from '../wire/exchange.ts';
import { kindOfType } from './package-kinds.ts';
import { requirePackageReader } from './rules/named-resources.ts';
import { storePackage } from './store-package.ts';
import { namesFrom } from './store/named-resources.ts';
import { findPackage } from './store/registry.ts';

/**
 * GET, HEAD /packages/<organization>/<name>/<version>.tar.gz with Range. Machines require this content type and the
 * checksum.
 */
export const packageDownloads = ({ db, blobs }: { db: Database; blobs: BlobStore }): Route => ({
  methods: ['GET', 'HEAD'],
  path: /^\/packages\/([^/]+)\/([^/]+)\/([^/]+)\.tar\.gz$/,
  async answer(exchange, [orgId = '', name = '', version = '']) {
    const absent = () => new PlatformError('PACKAGE_NOT_FOUND', { packageId: `${orgId}/${name}`, version });
    const caller = await exchange.caller();
    const found = await findPackage(db, { orgId, name, version });
    if (!found) requireReaderOrPart(caller, orgId, absent);
    if (!found) throw absent();
    if (found.visibility === 'private') await requirePackageReader(caller, found, namesFrom(db), absent);
    await sendBlob(exchange, blobs, {
      sha256: found.packageSha256,
      sizeBytes: found.sizeBytes,
      contentType: 'application/x-gzip',
      headers: { [checksumHeader]: formatChecksum(found.crc32c) },
    });
  },
});

/**
 * POST /packages/<organization>/<name>?type=ml_training&version=…&metadata={…}: publishes the .tar.gz in the body, for
 * clients that cannot stream messages. Returns {id, version}; without a version, the server chooses one.
 */
export const packageUploads = (deps: {
  db: Database;
  blobs: BlobStore;
  clock: Clock;
  usage: OrganizationUsage;
}): Route => ({
  methods: ['POST'],
  path: /^\/packages\/([^/]+)\/([^/]+)$/,
  async answer({ request, response, url, body, caller }, [orgId = '', name = '']) {
    const text = (key: string): string => url.searchParams.get(key) ?? '';
    const kind = [...kindOfType.values()].find((one) => one === text('type'));
    const metadata = readMetadata(text('metadata'));
    const announced = announcedBytes(request.headers['content-length']);
    const sent = { orgId, name, version: text('version'), kind, files: [], metadata, announcedBytes: announced };
    const sender = await caller();
    sendJson(response, 201, await storePackage(deps, sent, body(), sender));
  },
});

function readMetadata(text: string): { [key: string]: unknown } {
  if (text === '') return {};
  const metadata = parseObject(text);
  if (metadata) return metadata;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'metadata', value: text.slice(0, 80), limit: 'a JSON object' });
}
