import type { JsonObject } from '@bufbuild/protobuf';
import type { ConnectRouter } from '@connectrpc/connect';
import { PlatformError } from '@platform/contract/errors/errors';
import { AuditService } from '@platform/contract/gen/platform/audit/v1/audit_pb';
import { callerOf } from '../access/caller.ts';
import { organizationFor } from '../access/places.ts';
import { type Caller, requireInstallationOwner, requireOwner } from '../access/rules/permissions.ts';
import { listAudit } from '../access/store/audit.ts';
import type { Database } from '../database/database.ts';
import { pageToken, parsePageToken } from '../rpc/paging.ts';
import { msOf, timeOf } from '../rpc/protobuf-times.ts';

const defaultPage = 100;
const largestPage = 1000;
const mostActions = 100;

export const auditRoutes =
  ({ db }: { db: Database }) =>
  (router: ConnectRouter): void => {
    router.service(AuditService, {
      async listAuditEntries({ organizationId, since, until, actions, pageSize, pageToken: token }, context) {
        const orgId = await auditedOrganization(db, callerOf(context), organizationId);
        const limit = pageSizeOf(pageSize);
        if (actions.length > mostActions)
          throw new PlatformError('INVALID_ARGUMENT', { field: 'actions', limit: `at most ${mostActions}` });
        const rows = await listAudit(db, {
          orgId,
          since: since && msOf(since),
          until: until && msOf(until),
          actions,
          before: parsePageToken(token),
          limit: limit + 1,
        });
        const page = rows.slice(0, limit);
        const last = page.at(-1);
        return {
          entries: page.map((row) => ({
            at: timeOf(row.at),
            actor: row.actor,
            action: row.action,
            subject: row.subject,
            organizationId: row.orgId ?? '',
            ...(row.details && { details: row.details as JsonObject }),
          })),
          nextPageToken: last && rows.length > limit ? pageToken(last.id) : '',
        };
      },
    });
  };

/** @returns null: the installation. @throws PlatformError ORGANIZATION_NOT_FOUND, NOT_OWNER, PERMISSION_DENIED */
async function auditedOrganization(db: Database, caller: Caller, organizationId: string): Promise<string | null> {
  if (organizationId === '') {
    requireInstallationOwner(caller);
    return null;
  }
  const { id } = await organizationFor(db, caller, organizationId);
  requireOwner(caller, id);
  return id;
}

function pageSizeOf(size: number): number {
  if (size >= 0 && size <= largestPage) return size || defaultPage;
  throw new PlatformError('INVALID_ARGUMENT', { field: 'page_size', value: size, limit: `0 to ${largestPage}` });
}
