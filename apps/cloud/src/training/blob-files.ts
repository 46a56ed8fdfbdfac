import { PlatformError } from '@platform/contract/errors/errors';
import type { Caller } from '../access/rules/permissions.ts';
import { attemptInputs } from '../blobs/attempt-inputs.ts';
import { isSha256, type BlobStore } from '../blobs/blob-store.ts';
import type { OrganizationUsage } from '../blobs/organization-usage.ts';
import { noteBlob, readableBlobs } from '../blobs/store/owned-blobs.ts';
import type { Database } from '../database/database.ts';
import { type Route, sendBlob, sendJson } from '../wire/exchange.ts';
import { invalidArgument } from '../rpc/rules/invalid-argument.ts';

/** The organizations whose files a caller may store and read: those where it has a right on the whole organization. */
function organizationsOf(caller: Caller): string[] {
  if (caller.kind === 'attempt') return caller.isOver ? [] : [caller.orgId];
  const orgIds = caller.grants.flatMap(({ resource, resourceId, role }) =>
    resource === 'organization' && role !== 'reader' ? [resourceId] : [],
  );
  return [...new Set(orgIds)];
}

type BlobDeps = { db: Database; blobs: BlobStore; usage: OrganizationUsage };

/** PUT, GET and HEAD /blobs/<sha256>: files for releases, training and registry, by content. */
export const blobRoutes = ({ db, blobs, usage }: BlobDeps, limitBytes: number): Route[] => {
  const path = /^\/blobs\/([^/]+)$/;
  const inputs = attemptInputs(blobs);
  const known = async (caller: Caller, sha256: string): Promise<number | undefined> =>
    (await readableBlobs(db, organizationsOf(caller), [sha256])).get(sha256);
  /** An attempt may read only the inputs of its job, even images that were deleted after the submit. */
  const readable = async (caller: Caller, sha256: string): Promise<number | undefined> => {
    if (!isSha256(sha256)) return undefined;
    if (caller.kind !== 'attempt') return known(caller, sha256);
    if (caller.isOver || !(await inputs.has(caller, sha256))) return undefined;
    return (await blobs.head(sha256))?.sizeBytes;
  };
  return [
    {
      methods: ['PUT'],
      path,
      async answer({ request, response, body, drain, callerOrAttempt: authenticated }, [sha256 = '']) {
        const caller = await authenticated();
        if (!isSha256(sha256)) throw invalidArgument('sha256', sha256.slice(0, 80), '64 lower-case hex digits');
        const orgIds = organizationsOf(caller);
        if (orgIds.length === 0) throw new PlatformError('PERMISSION_DENIED', { resource: 'the file store' });
        const before = await known(caller, sha256);
        if (before !== undefined && (await blobs.touch(sha256))) {
          for (const orgId of orgIds) await noteBlob(db, orgId, { sha256, sizeBytes: before });
          drain();
          return sendJson(response, 200, { sha256, size_bytes: before });
        }
        const sizeBytes = Number(request.headers['content-length'] ?? 0);
        if (sizeBytes > limitBytes) throw new PlatformError('BLOB_TOO_LARGE', { sizeBytes, limitBytes });
        using admission = await usage.admit(orgIds, sizeBytes);
        const stored = await blobs.put(admission.counted(body()), { sha256, limitBytes });
        // The file first, then the row: a file without a row is harmless.
        for (const orgId of orgIds) await noteBlob(db, orgId, stored);
        admission.keep();
        sendJson(response, 201, { sha256, size_bytes: stored.sizeBytes });
      },
    },
    {
      methods: ['GET', 'HEAD'],
      path,
      async answer(exchange, [sha256 = '']) {
        const caller = await exchange.callerOrAttempt();
        const sizeBytes = await readable(caller, sha256);
        if (sizeBytes === undefined) throw new PlatformError('BLOB_NOT_FOUND', { sha256: sha256.slice(0, 80) });
        await sendBlob(exchange, blobs, {
          sha256,
          sizeBytes,
          contentType: 'application/octet-stream',
          headers: { 'cache-control': 'private, immutable, max-age=31536000' },
        });
      },
    },
  ];
};
